// FakeScenario holds what the fake CUDA runtime does on purpose, from the
// environment variable FERRY_FAKE_CUDA.
//
// Its text is words with a value each, separated by blanks:
//
//   memory_mib=4096        what the device has in all
//   context_mib=300        what is used of it when CUDA has started
//   kernel_kib=64          what each kernel takes when it is first launched
//   driver=13000           the newest CUDA that the driver knows
//   fail=CALL:N:CODE       the Nth call of CALL returns CODE; may come often
//   sticky=CALL:N:CODE     the same, and all that follow return CODE too
//   fail_when=CALL:PATH:CODE   the next call fails when that file is there, and
//                          takes it away
//   hang_while=CALL:PATH   calls of CALL wait while that file is locked (flock)
//   endless=N              the Nth kernel never ends
//   kernel_ms=2            each kernel takes as long
//   slow_free_ms=20        cudaFree and cudaFreeHost take as long
//   hold_free=PATH         cudaFreeHost does not return while that file is
//                          there, and makes a file PATH.held as it waits
//   records_not_ready=1    cudaErrorNotReady becomes the last error
//   progresses=1           a query of an event does one step of its stream
//   wrong_graph=N          the Nth graph leaves out its last step
//   lose_when=PATH         the device is lost when that file is there
//   log=PATH               what happens there for the first time, a line each,
//                          with the threads that call cudaFreeHost;
//                          PATH.used holds the device's bytes in use
//
// Thread safety: immutable after Get().
// Errors: a text that is none ends the process with a line on stderr.
#ifndef FERRY_TESTS_CUDA_FAKE_FAKE_SCENARIO_H_
#define FERRY_TESTS_CUDA_FAKE_FAKE_SCENARIO_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ferry::cuda_fake {

struct PlannedError {
  std::string call;
  uint64_t number = 0;  // from 1; 0: by the file
  std::string when;
  int code = 0;
  bool is_sticky = false;
};

struct PlannedHang {
  std::string call;
  std::string path;
};

struct FakeScenario {
  static const FakeScenario& Get();

  uint64_t memory_mib = 4096;
  uint64_t context_mib = 0;
  uint64_t kernel_kib = 0;
  int driver = 13000;
  std::vector<PlannedError> errors;
  std::vector<PlannedHang> hangs;
  uint64_t endless = 0;  // 0: none
  int64_t kernel_ms = 0;
  int64_t slow_free_ms = 0;
  std::string hold_free;
  bool records_not_ready = false;
  bool progresses = false;
  uint64_t wrong_graph = 0;  // 0: none
  std::string lose_when;
  std::string log;
};

}  // namespace ferry::cuda_fake

#endif  // FERRY_TESTS_CUDA_FAKE_FAKE_SCENARIO_H_

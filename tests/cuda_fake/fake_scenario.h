// FakeScenario holds what the fake CUDA runtime does on purpose, from the
// environment variable FERRY_FAKE_CUDA.
//
// Its text is words with a value each, separated by blanks:
//
//   memory_mib=4096        what the device has in all
//   driver=13000           the newest CUDA that the driver knows
//   fail=CALL:N:CODE       the Nth call of CALL returns CODE; may come often
//   sticky=CALL:N:CODE     the same, and all that follow return CODE too
//   endless=N              the Nth kernel never ends
//   slow_free_ms=20        cudaFree and cudaFreeHost take as long
//   records_not_ready=1    cudaErrorNotReady becomes the last error
//   lose_when=PATH         the device is lost when that file is there
//   log=PATH               calls and kernels are counted there at exit
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
  uint64_t number = 0;  // from 1
  int code = 0;
  bool is_sticky = false;
};

struct FakeScenario {
  static const FakeScenario& Get();

  uint64_t memory_mib = 4096;
  int driver = 13000;
  std::vector<PlannedError> errors;
  uint64_t endless = 0;  // 0: none
  int64_t slow_free_ms = 0;
  bool records_not_ready = false;
  std::string lose_when;
  std::string log;
};

}  // namespace ferry::cuda_fake

#endif  // FERRY_TESTS_CUDA_FAKE_FAKE_SCENARIO_H_

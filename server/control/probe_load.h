// ProbeLoad loads a version of a model in a process of its own first, so that
// a file that crashes, hangs or takes too much memory ends that process and not
// the server.
//
// The process is this program again with the same flags and --run-probe-load.
// It reads from standard input what to load, loads it and runs its warm-up,
// writes the outcome to standard output, and ends (RunProbeLoad()). What it
// writes to standard error is read; where it dies, the last line is told. It is
// killed where the server dies, and the first that the kernel kills where
// memory is out.
//
// Thread safety: const; Try() by one thread at a time. The kernel kills the
// process when the thread that called Try() ends.
#ifndef FERRY_SERVER_CONTROL_PROBE_LOAD_H_
#define FERRY_SERVER_CONTROL_PROBE_LOAD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "base/clock.h"
#include "models/repository/model_repository.h"

namespace ferry {

// One version of a model, and the config that a client sent for it.
struct ProbeRequest {
  std::string model;
  int64_t version = 0;
  std::string config_json = {};  // empty: that of the repository
  bool in_fp32 = false;          // whatever is the default
};

struct ProbeLoadOptions {
  std::vector<std::string> command = {};  // path of the program, then arguments
  Duration timeout = Milliseconds(300'000);
  int64_t max_bytes = 0;  // of memory that is resident; 0: no bound
};

class ProbeLoad {
 public:
  explicit ProbeLoad(ProbeLoadOptions options) : options_(std::move(options)) {}

  // Waits until the process has ended, and ends it where `is_stopped` says so.
  // OK where the version can be loaded; the error of the load where it has one;
  // INTERNAL where the process died, DEADLINE_EXCEEDED where it took too long,
  // RESOURCE_EXHAUSTED where it took too much memory or could not be started,
  // CANCELLED where it was stopped. Errors name model and version.
  absl::Status Try(const ProbeRequest& request,
                   absl::FunctionRef<bool()> is_stopped) const;

 private:
  const ProbeLoadOptions options_;
};

// Has the kernel kill the calling process, one of Try()'s, when the thread ends
// that started it. The first of all that it does.
void DieWithServer();

// Does what Try() asks its process to do, and writes the outcome to that
// descriptor; returns the exit code. REQUIRES: nothing else reads standard
// input, or writes to the pipe that was standard output.
int RunProbeLoad(ModelRepository& repository, int result_fd);

}  // namespace ferry

#endif  // FERRY_SERVER_CONTROL_PROBE_LOAD_H_

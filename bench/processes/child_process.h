// ChildProcess runs this program once more, started with other arguments, with
// a channel to it.
//
// It is executed afresh and inherits no state: this process may have threads,
// and gRPC in use. Its standard input and output are /dev/null.
//
// Thread safety: thread-compatible; channel().Send() from any thread.
// Errors: INTERNAL where the system starts no process.
#ifndef FERRY_BENCH_PROCESSES_CHILD_PROCESS_H_
#define FERRY_BENCH_PROCESSES_CHILD_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/processes/message_channel.h"

namespace ferry::bench {

class ChildProcess {
 public:
  // The child's end of the channel.
  static constexpr int kChildSocket = 3;

  // `arguments`: all, the program's name included.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(
      const std::vector<std::string>& arguments);

  // Does what End() does.
  ~ChildProcess();

  MessageChannel& channel() { return channel_; }
  pid_t pid() const { return pid_; }

  // Ends what is sent to it, at which it ends itself; kills it where it does
  // not do so soon. Returns how it ended: "was killed by signal 9 (Killed)".
  std::string End();

 private:
  ChildProcess(pid_t pid, int socket) : pid_(pid), channel_(socket) {}

  const pid_t pid_;
  MessageChannel channel_;
  std::string ending_;  // empty: not yet
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_PROCESSES_CHILD_PROCESS_H_

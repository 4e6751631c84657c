// MessageChannel carries whole messages between two processes of one machine,
// each way, over one end of a socket pair.
//
// Thread safety: Send() from any thread, Receive() from one at a time.
// Errors: UNAVAILABLE where the other end is gone; DEADLINE_EXCEEDED where a
// message that has begun does not go on for 30 s.
#ifndef FERRY_BENCH_PROCESSES_MESSAGE_CHANNEL_H_
#define FERRY_BENCH_PROCESSES_MESSAGE_CHANNEL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"

namespace ferry::bench {

class MessageChannel {
 public:
  // Takes the end, and closes it.
  explicit MessageChannel(int socket) : socket_(socket) {}
  MessageChannel(const MessageChannel&) = delete;
  MessageChannel& operator=(const MessageChannel&) = delete;
  ~MessageChannel();

  absl::Status Send(const std::string& message);

  // Waits for a message to begin, for as long as it takes.
  absl::StatusOr<std::string> Receive();

  // Says that nothing more will be sent: the other end's Receive() fails.
  void EndSending();

  // To poll for a message that begins.
  int socket() const { return socket_; }

 private:
  absl::Status Read(char* to, size_t bytes);

  const int socket_;
  Mutex sending_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_PROCESSES_MESSAGE_CHANNEL_H_

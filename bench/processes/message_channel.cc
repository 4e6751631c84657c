// Implements MessageChannel: sends a message's length in 8 bytes, in this
// machine's order, then the message.
#include "bench/processes/message_channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace ferry::bench {
namespace {

constexpr int kGoesOnMs = 30'000;
constexpr uint64_t kLongest = uint64_t{1} << 36;

absl::Status Gone(const char* what) {
  return absl::UnavailableError(
      absl::StrCat("the other process is gone: ", what));
}

absl::Status SendAll(int socket, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t sent = send(socket, bytes, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) {
      continue;
    }
    if (sent <= 0) {
      return Gone(std::strerror(errno));
    }
    bytes += sent;
    size -= static_cast<size_t>(sent);
  }
  return absl::OkStatus();
}

}  // namespace

MessageChannel::~MessageChannel() { close(socket_); }

absl::Status MessageChannel::Send(const std::string& message) {
  const uint64_t size = message.size();
  std::array<char, sizeof size> head;
  std::memcpy(head.data(), &size, sizeof size);
  MutexLock lock(sending_);
  if (absl::Status status = SendAll(socket_, head.data(), head.size());
      !status.ok()) {
    return status;
  }
  return SendAll(socket_, message.data(), message.size());
}

absl::StatusOr<std::string> MessageChannel::Receive() {
  pollfd begins = {socket_, POLLIN, 0};
  while (poll(&begins, 1, -1) < 0 && errno == EINTR) {
  }
  uint64_t size = 0;
  std::array<char, sizeof size> head;
  if (absl::Status status = Read(head.data(), head.size()); !status.ok()) {
    return status;
  }
  std::memcpy(&size, head.data(), sizeof size);
  if (size > kLongest) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected a message of ", kLongest, " bytes at most, got ", size));
  }
  std::string message(size, '\0');
  if (absl::Status status = Read(message.data(), size); !status.ok()) {
    return status;
  }
  return message;
}

absl::Status MessageChannel::Read(char* to, size_t bytes) {
  while (bytes > 0) {
    pollfd goes_on = {socket_, POLLIN, 0};
    const int ready = poll(&goes_on, 1, kGoesOnMs);
    if (ready < 0 && errno == EINTR) {
      continue;
    }
    if (ready == 0) {
      return absl::DeadlineExceededError(
          "the other process does not go on with its message");
    }
    const ssize_t got = recv(socket_, to, bytes, 0);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return Gone(got == 0 ? "end of its messages" : std::strerror(errno));
    }
    to += got;
    bytes -= static_cast<size_t>(got);
  }
  return absl::OkStatus();
}

void MessageChannel::EndSending() { shutdown(socket_, SHUT_WR); }

}  // namespace ferry::bench

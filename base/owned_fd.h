// OwnedFd closes a file descriptor in its destructor.
//
// Thread safety: thread-compatible.
#ifndef FERRY_BASE_OWNED_FD_H_
#define FERRY_BASE_OWNED_FD_H_

#include <unistd.h>

#include <utility>

namespace ferry {

class OwnedFd {
 public:
  OwnedFd() = default;
  // Below 0: none.
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(other.Release()) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~OwnedFd() { Close(); }

  void Close() {
    if (fd_ >= 0) {
      close(Release());
    }
  }
  // Gives it to the caller, which closes it.
  int Release() { return std::exchange(fd_, -1); }
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

}  // namespace ferry

#endif  // FERRY_BASE_OWNED_FD_H_

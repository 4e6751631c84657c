// Implements WriteAll: write() until all is written.
#include "base/write_all.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace ferry {

int WriteAll(int descriptor, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t size = write(descriptor, text.data(), text.size());
    if (size >= 0) {
      text.remove_prefix(static_cast<size_t>(size));
    } else if (errno == EAGAIN) {
      pollfd room = {descriptor, POLLOUT, 0};
      poll(&room, 1, /*timeout=*/-1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace ferry

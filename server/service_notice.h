// ServiceNotice tells systemd how the process stands: that it serves, that it
// stops, and again and again that its main thread turns. Source of the
// protocol: sd_notify(3), of systemd 252.
//
// Without the address of a socket, as for a process that systemd has not
// started or does not ask, it tells nothing.
//
// Thread safety: thread-compatible.
#ifndef FERRY_SERVER_SERVICE_NOTICE_H_
#define FERRY_SERVER_SERVICE_NOTICE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace ferry {

class ServiceNotice {
 public:
  // `address` is that of $NOTIFY_SOCKET: a path, or '@' and an abstract name;
  // null or empty: none. An address that is wrong is logged.
  explicit ServiceNotice(const char* address);
  ~ServiceNotice();
  ServiceNotice(const ServiceNotice&) = delete;
  ServiceNotice& operator=(const ServiceNotice&) = delete;

  // The process serves, and its main thread turns. To be called more often
  // than the unit's WatchdogSec; `status` is shown by `systemctl status`. Each
  // call tells all of it, so that one that is lost costs nothing.
  void Serves(absl::string_view status);

  // The process stops, for that reason, and is not watched from now on.
  void Stops(absl::string_view why);

 private:
  // Waits at most kMaxWait for room.
  void Send(const std::string& text);

  std::string address_;  // as the kernel takes it; empty: none
  int fd_ = -1;
  bool has_failed_ = false;  // to send, which is logged once
};

}  // namespace ferry

#endif  // FERRY_SERVER_SERVICE_NOTICE_H_

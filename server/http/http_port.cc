// Implements HttpPort over one or two HttpListeners.
#include "server/http/http_port.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <utility>

namespace ferry {
namespace {

constexpr Duration kToldAgain = std::chrono::minutes(1);

}  // namespace

HttpPort::HttpPort(std::unique_ptr<HttpListener> listener, std::string tls)
    : listener_(std::move(listener)), tls_(std::move(tls)) {}

absl::StatusOr<std::unique_ptr<HttpPort>> HttpPort::Open(
    ListenSockets sockets, HttpListener::Handlers handlers,
    const std::string& tls) {
  auto listener = HttpListener::Create(std::move(sockets), std::move(handlers),
                                       HttpBounds(), tls);
  if (!listener.ok()) {
    return listener.status();
  }
  return std::unique_ptr<HttpPort>(new HttpPort(*std::move(listener), tls));
}

bool HttpPort::Look(const std::string& tls, TimePoint now) {
  before_.reset();
  if (refused_.has_value() && *refused_ != tls) {
    refused_.reset();
  }
  if (tls == tls_ || refused_.has_value()) {
    return tls == tls_;
  }
  auto listener = listener_->WithTls(tls);
  if (listener.ok()) {
    before_ = std::exchange(listener_, *std::move(listener));
    tls_ = tls;
    return true;
  }
  if (absl::IsInvalidArgument(listener.status())) {
    refused_ = tls;
  } else if (told_at_.has_value() && now < *told_at_ + kToldAgain) {
    return false;
  } else {
    told_at_ = now;
  }
  spdlog::warn("HTTP keeps the certificate before: {}",
               std::string(listener.status().message()));
  return false;
}

}  // namespace ferry

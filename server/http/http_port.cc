// Implements HttpPort over one or two HttpListeners.
#include "server/http/http_port.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <utility>

namespace ferry {
namespace {

constexpr Duration kTriedAgain = std::chrono::minutes(1);

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

void HttpPort::Look(const std::string& tls, TimePoint now) {
  before_.reset();
  const bool is_refused = tls == refused_ && now < refused_at_ + kTriedAgain;
  if (tls == tls_ || is_refused) {
    return;
  }
  auto listener = listener_->WithTls(tls);
  if (listener.ok()) {
    before_ = std::exchange(listener_, *std::move(listener));
    tls_ = tls;
    refused_.clear();
  } else {
    refused_ = tls;
    refused_at_ = now;
    spdlog::warn("HTTP keeps the certificate before: {}",
                 std::string(listener.status().message()));
  }
}

}  // namespace ferry

// Implements TrustWatch over a BackgroundCall.
#include "server/auth/trust_watch.h"

#include <spdlog/spdlog.h>

#include <utility>

namespace ferry {

TrustWatch::TrustWatch(std::function<void()> read, const Clock& clock)
    : read_(
          "ferry-trust",
          [read = std::move(read)] {
            read();
            return true;
          },
          clock) {}

void TrustWatch::Look() {
  const bool was_stalled = is_stalled_;
  is_stalled_ = read_.running().value_or(Duration(0)) >= kStalls;
  if (is_stalled_ && !was_stalled) {
    spdlog::warn(
        "the files of certificates and tokens: expected an answer of their "
        "folder at once, got none for {} s; those before stay in force: keep "
        "them on a disk of this machine",
        std::chrono::ceil<std::chrono::seconds>(kStalls).count());
  } else if (was_stalled && !is_stalled_) {
    spdlog::info("the files of certificates and tokens answer again");
  }
  read_.Ask();
}

}  // namespace ferry

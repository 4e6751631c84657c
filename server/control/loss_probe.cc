// Implements LossProbe: takes answers, and logs where none comes.
#include "server/control/loss_probe.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdint>

namespace ferry {
namespace {

int64_t Seconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

}  // namespace

bool LossProbe::Look() {
  const std::optional<Duration> running = call_.running();
  if (told_.has_value() && !running.has_value()) {
    spdlog::info("device: its driver answers again, after {} s or more",
                 Seconds(*told_));
    told_.reset();
  } else if (!told_.has_value() && running >= kLong) {
    spdlog::warn(
        "device: expected an answer of its driver at once, got none for {} s; "
        "a model that is being loaded may be why; else, or where batches hang "
        "too, look for Xid in the kernel's log, and reset the GPU or restart "
        "the node",
        Seconds(*running));
  }
  if (running >= kLong) {
    told_ = running;
  }
  call_.Ask();
  const auto last = call_.last();
  return last.has_value() && last->answer;
}

}  // namespace ferry

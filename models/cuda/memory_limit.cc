// Implements MemoryLimit: takes what is left, and logs it.
#include "models/cuda/memory_limit.h"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace ferry {
namespace {

constexpr uint64_t kSlackBytes = uint64_t{128} << 20;
constexpr uint64_t kSlackParts = 16;  // of a device: no more than one of them
constexpr uint64_t kNoticeableParts = 8;  // of the slack

// What is left of a when b is taken away.
uint64_t Without(uint64_t a, uint64_t b) { return a - std::min(a, b); }

}  // namespace

uint64_t MemoryUse::beside() const { return Without(total, free + reserved); }

uint64_t MemoryLimit::Slack(uint64_t total) {
  return std::min(kSlackBytes, total / kSlackParts);
}

void MemoryLimit::Learn(const MemoryUse& use,
                        absl::FunctionRef<void(uint64_t)> limit) {
  const auto own =
      static_cast<uint64_t>(share_ * static_cast<double>(use.total));
  const uint64_t slack = Slack(use.total);
  const uint64_t allowed =
      std::max(Without(std::min(own, Without(use.total, use.beside())), slack),
               use.reserved);
  if (allowed_.has_value() &&
      std::max(*allowed_, allowed) - std::min(*allowed_, allowed) <=
          slack / kNoticeableParts) {
    return;
  }
  limit(allowed);
  allowed_ = allowed;
  spdlog::info(
      "cuda memory total_bytes={} beside_bytes={} allowed_bytes={}"
      " reserved_bytes={}",
      use.total, use.beside(), allowed, use.reserved);
}

}  // namespace ferry

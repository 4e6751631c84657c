// Implements LogModelFailure and LogModelFallback, the first at a limited rate.
#include "models/failure_log.h"

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "spdlog/spdlog.h"

namespace ferry {
namespace {

constexpr int64_t kNanosBetweenLines = 1'000'000'000;
constexpr size_t kMaxTextBytes = 2000;

// When the next line may be written, and how many were not. Each is a count of
// its own: no order between them is needed.
std::atomic<int64_t> next_line_nanos{0};
std::atomic<int64_t> left_out{0};

// Returns the text on one line, of bounded length.
std::string OneLine(absl::string_view text) {
  std::string line(text.substr(0, kMaxTextBytes));
  std::replace(line.begin(), line.end(), '\n', '|');
  return line;
}

}  // namespace

void LogModelFailure(const std::string& model, absl::string_view step,
                     absl::string_view text) {
  const int64_t now = ToNanos(Clock::Steady().Now());
  int64_t next = next_line_nanos.load(std::memory_order_relaxed);
  if (now < next ||
      !next_line_nanos.compare_exchange_strong(next, now + kNanosBetweenLines,
                                               std::memory_order_relaxed)) {
    left_out.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  spdlog::error("model failed model={} step={} left_out={} text={}", model,
                std::string(step),
                left_out.exchange(0, std::memory_order_relaxed), OneLine(text));
}

void LogModelFallback(const std::string& model, absl::string_view what,
                      absl::string_view why) {
  spdlog::warn("model falls back model={} to=\"{}\" why=\"{}\"", model,
               std::string(what), OneLine(why));
}

}  // namespace ferry

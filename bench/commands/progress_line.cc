// Implements ProgressLine: a thread writes the line to stderr in turn.
#include "bench/commands/progress_line.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace ferry::bench {
namespace {

constexpr Duration kOnTerminal = std::chrono::seconds(1);
constexpr Duration kElsewhere = std::chrono::seconds(10);
constexpr double kFewSeconds = 100;  // are not told in minutes
constexpr char kClear[] = "\r\033[K";

bool IsTerminal() { return isatty(STDERR_FILENO) == 1; }

}  // namespace

std::string Describe(const LoadProgress& progress) {
  const double seconds =
      std::chrono::duration<double>(progress.measured).count();
  const double rate =
      seconds > 0 ? static_cast<double>(progress.ok) / seconds : 0;
  if (progress.of_query > 0) {
    return absl::StrFormat("%d of %d answered, %.0f/s, %d failed",
                           progress.ok + progress.failed, progress.of_query,
                           rate, progress.failed);
  }
  if (progress.measured == Duration::zero()) {
    return absl::StrFormat(
        "warming up, %.0f s left",
        std::chrono::duration<double>(progress.left).count());
  }
  if (progress.ok + progress.failed == 0) {
    return absl::StrFormat(
        "%.0f s left", std::chrono::duration<double>(progress.left).count());
  }
  return absl::StrFormat(
      "%.0f s left, %.0f/s, p50 %.2f ms, p99 %.2f ms, %d failed",
      std::chrono::duration<double>(progress.left).count(), rate,
      static_cast<double>(progress.p50_ns) / 1e6,
      static_cast<double>(progress.p99_ns) / 1e6, progress.failed);
}

std::string Describe(const LoadProgress& progress, Duration later) {
  const double seconds =
      std::chrono::duration<double>(progress.left + later).count();
  const std::string all = seconds < kFewSeconds
                              ? absl::StrFormat("%.0f s", seconds)
                              : absl::StrFormat("%.0f min", seconds / 60);
  return absl::StrCat("about ", all, " left in all; ", Describe(progress));
}

void ClearProgress() {
  if (IsTerminal()) {
    std::fputs(kClear, stderr);
  }
}

ProgressLine::ProgressLine(Progress progress, Later later)
    : progress_(std::move(progress)),
      later_(std::move(later)),
      is_terminal_(IsTerminal()) {
  thread_ = std::thread([this] { Run(); });
}

ProgressLine::~ProgressLine() {
  {
    MutexLock lock(mutex_);
    is_over_ = true;
    changed_.SignalAll();
  }
  thread_.join();
  ClearProgress();
}

void ProgressLine::Run() {
  const Duration every = is_terminal_ ? kOnTerminal : kElsewhere;
  TimePoint next = Clock::Steady().Now() + every;
  MutexLock lock(mutex_);
  while (!is_over_) {
    changed_.WaitUntil(mutex_, next);
    if (is_over_ || Clock::Steady().Now() < next) {
      continue;
    }
    next += every;
    if (const auto progress = progress_(); progress.has_value()) {
      std::fprintf(
          stderr, is_terminal_ ? "%s  %s" : "%s  %s\n",
          is_terminal_ ? kClear : "",
          (later_ ? Describe(*progress, later_()) : Describe(*progress))
              .c_str());
    }
  }
}

}  // namespace ferry::bench

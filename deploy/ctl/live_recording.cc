// Implements RecordServer(): a page a second.
#include "deploy/ctl/live_recording.h"

#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/printable_text.h"

namespace ferry::ctl {
namespace {

constexpr Duration kPeriod = std::chrono::seconds(1);

absl::StatusOr<MetricsReading> Read(const HttpSource& source) {
  const auto page = GetServerPage(source, "/metrics", kPeriod);
  if (!page.ok()) {
    return page.status();
  }
  auto reading = ReadMetrics(*page, Clock::Steady().Now());
  if (!reading.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat(source.url(), "/metrics: ", reading.status().message()));
  }
  return reading;
}

void AwaitMoment(TimePoint moment) {
  Mutex mutex;
  CondVar never;
  MutexLock lock(mutex);
  while (Clock::Steady().Now() < moment) {
    never.WaitUntil(mutex, moment);
  }
}

}  // namespace

absl::StatusOr<plan::Recording> RecordServer(const HttpSource& source,
                                             int64_t seconds,
                                             const DeviceLink& link) {
  TimePoint due = Clock::Steady().Now();
  auto first = Read(source);
  if (!first.ok()) {
    return first.status();
  }
  PageRecorder recorder(*std::move(first),
                        std::chrono::duration<double>(kPeriod).count(), link);
  for (int64_t i = 0; i < seconds; ++i) {
    due += kPeriod;
    if (Clock::Steady().Now() >= due + kPeriod) {
      recorder.Add(std::nullopt);  // the page before came so late
      continue;
    }
    AwaitMoment(due);
    auto page = Read(source);
    recorder.Add(page.ok() ? std::optional(*std::move(page)) : std::nullopt);
  }
  plan::Recording recording = recorder.recording();
  if (absl::Status status = plan::LeaveOutUnknown(recording, source.url());
      !status.ok()) {
    return status;
  }
  return recording;
}

}  // namespace ferry::ctl

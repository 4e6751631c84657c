// Implements DeviceWatch: its thread waits from reading to reading.
#include "bench/device/device_watch.h"

namespace ferry::bench {

DeviceWatch::DeviceWatch(DeviceSource* source, TimePoint begin, TimePoint end,
                         Duration interval)
    : source_(source), begin_(begin), end_(end), interval_(interval) {
  if (source_ != nullptr) {
    thread_ = std::thread([this] { Run(); });
  }
}

DeviceWatch::~DeviceWatch() { Finish(); }

void DeviceWatch::EndNow() {
  MutexLock lock(mutex_);
  is_over_ = true;
  changed_.SignalAll();
}

std::optional<DeviceSummary> DeviceWatch::Finish() {
  EndNow();
  if (thread_.joinable()) {
    thread_.join();
  }
  return means_.Summary();
}

void DeviceWatch::Run() {
  WaitUntil(begin_);
  if (Clock::Steady().Now() < begin_) {
    return;
  }
  for (bool is_last = false; !is_last;) {
    TimePoint next = Clock::Steady().Now() + interval_;
    Read();
    // The last two are not close to each other: what is a mean since the one
    // before would be of a moment.
    is_last = end_ - interval_ / 2 < next;
    next = is_last ? end_ : next;
    is_last = !WaitUntil(next) || is_last;
  }
  Read();
}

void DeviceWatch::Read() {
  if (const auto reading = source_->Read(); reading.has_value()) {
    means_.Add(*reading);
  }
}

bool DeviceWatch::WaitUntil(TimePoint until) {
  MutexLock lock(mutex_);
  while (!is_over_ && Clock::Steady().Now() < until) {
    changed_.WaitUntil(mutex_, until);
  }
  return !is_over_;
}

}  // namespace ferry::bench

// Implements WindowProbe: waits for a window's begin and end, or its early end.
#include "bench/search/window_probe.h"

#include <chrono>

namespace ferry::bench {
namespace {

constexpr Duration kLeadTime = std::chrono::milliseconds(20);
constexpr int32_t kSlices = 30;

}  // namespace

LoadPlan PlanWindow(const Pacer& pacer, Duration warm_up, Duration measured,
                    int32_t max_outstanding) {
  LoadPlan plan;
  plan.start = pacer.Now() + kLeadTime;
  plan.warm_up = warm_up;
  plan.measured = measured;
  plan.max_outstanding = max_outstanding;
  plan.slices = kSlices;
  return plan;
}

WindowProbe::WindowProbe(const CounterSource* probe, const LoadPlan& plan,
                         int32_t instances)
    : probe_(probe),
      plan_(plan),
      instances_(instances),
      device_(probe == nullptr ? nullptr : probe->device(), plan.window_begin(),
              plan.window_end()) {
  if (probe_ != nullptr) {
    thread_ = std::thread([this] { Run(); });
  }
}

WindowProbe::~WindowProbe() { Finish(); }

void WindowProbe::EndNow() {
  device_.EndNow();
  MutexLock lock(mutex_);
  is_over_ = true;
  changed_.SignalAll();
}

ServerWindow WindowProbe::Finish() {
  EndNow();
  if (thread_.joinable()) {
    thread_.join();
  }
  window_.device = device_.Finish();
  return window_;
}

void WindowProbe::Run() {
  WaitUntil(plan_.window_begin());
  const ServerCounters begin = probe_->Read();
  WaitUntil(plan_.window_end());
  window_ = Difference(begin, probe_->Read(), instances_);
}

void WindowProbe::WaitUntil(TimePoint until) {
  MutexLock lock(mutex_);
  while (!is_over_ && Clock::Steady().Now() < until) {
    changed_.WaitUntil(mutex_, until);
  }
}

}  // namespace ferry::bench

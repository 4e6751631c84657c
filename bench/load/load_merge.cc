// Implements Merge(): adds counts and histograms.
#include "bench/load/load_merge.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace ferry::bench {
namespace {

using EndCounts = std::array<uint64_t, kCodeCount>;

void Add(const EndCounts& from, EndCounts& to) {
  for (size_t code = 0; code < kCodeCount; ++code) {
    to[code] += from[code];
  }
}

void MergeStamps(const std::deque<Stamp>& from, std::deque<Stamp>& to) {
  std::deque<Stamp> all;
  std::merge(to.begin(), to.end(), from.begin(), from.end(),
             std::back_inserter(all), [](const Stamp& one, const Stamp& other) {
               return one.ended < other.ended;
             });
  to = std::move(all);
}

}  // namespace

void Merge(const LoadResult& other, LoadResult& load) {
  Check(other.is_open == load.is_open &&
            other.classes.size() == load.classes.size() &&
            other.slices.size() == load.slices.size() &&
            other.slice == load.slice,
        "loads that are joined are of one kind");
  load.latency.Merge(other.latency);
  load.latency_from_send.Merge(other.latency_from_send);
  load.failed_latency.Merge(other.failed_latency);
  load.send_lag.Merge(other.send_lag);
  Add(other.ended, load.ended);
  load.planned += other.planned;
  load.not_sent += other.not_sent;
  load.held_back += other.held_back;
  load.unanswered += other.unanswered;
  load.backed_off += other.backed_off;
  load.ok_in_window += other.ok_in_window;
  load.window = std::max(load.window, other.window);
  load.interrupted |= other.interrupted;
  load.is_decided |= other.is_decided;
  MergeStamps(other.stamps, load.stamps);
  for (size_t i = 0; i < load.classes.size(); ++i) {
    load.classes[i].latency.Merge(other.classes[i].latency);
    Add(other.classes[i].ended, load.classes[i].ended);
    load.classes[i].planned += other.classes[i].planned;
  }
  for (size_t i = 0; i < load.slices.size(); ++i) {
    load.slices[i].latency.Merge(other.slices[i].latency);
    load.slices[i].send_lag.Merge(other.slices[i].send_lag);
    load.slices[i].planned += other.slices[i].planned;
    load.slices[i].failed += other.slices[i].failed;
  }
}

}  // namespace ferry::bench

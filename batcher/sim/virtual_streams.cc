// Three streams, the thread that starts and the one that waits.
#include "batcher/sim/virtual_streams.h"

#include <algorithm>
#include <utility>

namespace ferry {
namespace {

constexpr DeviceOutcome kFails = {
    .outcome = {absl::StatusCode::kInternal, "simulated device failed"}};
constexpr DeviceOutcome kLost = {
    .outcome = {absl::StatusCode::kInternal, "simulated device is lost"},
    .is_lost = true};

}  // namespace

// --- the device --------------------------------------------------------------

VirtualStreams::Model::Model(const VirtualStreamsOptions& options,
                             const VirtualClock& clock)
    : options_(options),
      clock_(clock),
      spec_{.inputs = {{"input", DataType::kFp32, {kAnySize}}},
            .outputs = {},
            .max_batch_size = options.max_batch_size},
      warm_up_samples_({ServiceTimeSample{1, options.compute.Of(1)},
                        {options.max_batch_size,
                         options.compute.Of(options.max_batch_size)}}),
      pool_(0, 16),
      places_(static_cast<size_t>(options.slots) + 1) {}

DeviceOutcome VirtualStreams::Model::CopyIn(int32_t place, const Batch& batch) {
  const Duration takes = options_.copy_in.Of(batch.rows());
  copy_in_free_ = std::max(copy_in_free_, clock_.Now()) + takes;
  of(place).copied_in = copy_in_free_;
  of(place).times.copy_in = takes;
  return {};
}

DeviceOutcome VirtualStreams::Model::Compute(int32_t place, const Batch& batch,
                                             OutputRef& output) {
  Place& its = of(place);
  const Duration takes = options_.compute.Of(batch.rows());
  compute_free_ = std::max(compute_free_, its.copied_in) + takes;
  its.rows = batch.rows();
  its.computed = compute_free_;
  its.times.compute = takes;
  copy_out_free_ = std::max(copy_out_free_, its.computed) +
                   options_.copy_out.Of(batch.rows());
  its.copied_out = copy_out_free_;
  ++batches_;
  its.fails = options_.fail_every > 0 && batches_ % options_.fail_every == 0;
  output = pool_.Take();
  return {};
}

DeviceOutcome VirtualStreams::Model::AwaitComputed(int32_t place,
                                                   DeviceTimes& times) {
  times = of(place).times;
  if (options_.lost_after >= 0 && batches_ > options_.lost_after) {
    return kLost;
  }
  busy_ += times.compute;
  ++computed_batches_;
  computed_rows_ += of(place).rows;
  return of(place).fails ? kFails : DeviceOutcome{};
}

DeviceOutcome VirtualStreams::Model::AwaitCopiedOut(int32_t) { return {}; }

// --- the two threads ---------------------------------------------------------

VirtualStreams::VirtualStreams(const VirtualStreamsOptions& options,
                               const VirtualClock& clock)
    : options_(options),
      clock_(clock),
      model_(options, clock),
      pipeline_(model_, clock) {}

VirtualStreams::~VirtualStreams() {
  while (next_event() != kNever) {
    PlayNext();
  }
}

void VirtualStreams::Start(std::unique_ptr<Batch> batch,
                           BackendEvents& events) {
  if (to_start_.empty()) {
    gathered_ = clock_.Now() + options_.gather.Of(batch->rows());
  }
  to_start_.push_back({std::move(batch), &events});
}

TimePoint VirtualStreams::next_start() const {
  return to_start_.empty() ? kNever : gathered_;
}

TimePoint VirtualStreams::next_seen() const {
  if (under_way_.empty()) {
    return kNever;
  }
  const int32_t place = under_way_.front().place;
  return std::max(waits_since_, has_landed_ ? model_.copied_out(place)
                                            : model_.computed(place));
}

TimePoint VirtualStreams::next_event() const {
  return std::min(next_start(), next_seen());
}

void VirtualStreams::PlayNext() {
  if (next_start() <= next_seen()) {
    Work work = std::move(to_start_.front());
    to_start_.pop_front();
    StreamPipeline::Flight flight = pipeline_.Begin(std::move(work));
    flight.gather = options_.gather.Of(flight.work.batch->rows());
    pipeline_.Launch(flight);
    under_way_.push_back(std::move(flight));
    if (!to_start_.empty()) {
      gathered_ =
          clock_.Now() + options_.gather.Of(to_start_.front().batch->rows());
    }
    return;
  }
  waits_since_ = clock_.Now();
  if (!has_landed_) {
    has_landed_ = true;
    pipeline_.Land(under_way_.front());
    pipeline_.FreeSlot(under_way_.front());
    return;
  }
  has_landed_ = false;
  StreamPipeline::Flight flight = std::move(under_way_.front());
  under_way_.pop_front();
  Work work = pipeline_.Unload(std::move(flight));
  BackendEvents& events = *work.events;
  events.Finished(std::move(work.batch));
}

}  // namespace ferry

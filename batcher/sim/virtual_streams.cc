// Implements VirtualStreams: three streams and the steps of two threads.
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
      pool_(0, 16),
      places_(static_cast<size_t>(options.max_in_flight) + 1) {}

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
  if (IsLost(/*at_copy_out=*/false)) {
    return kLost;
  }
  busy_ += times.compute;
  ++computed_batches_;
  computed_rows_ += of(place).rows;
  return of(place).fails ? kFails : DeviceOutcome{};
}

DeviceOutcome VirtualStreams::Model::AwaitCopiedOut(int32_t) {
  return IsLost(/*at_copy_out=*/true) ? kLost : DeviceOutcome{};
}

// --- the two threads ---------------------------------------------------------

VirtualStreams::VirtualStreams(const VirtualStreamsOptions& options,
                               const VirtualClock& clock)
    : VirtualInstances(clock),
      options_(options),
      clock_(clock),
      model_(options, clock),
      pipeline_(model_, clock) {}

VirtualStreams::~VirtualStreams() {
  while (next_event() != kNever) {
    PlayNext();
  }
}

PulledInstances VirtualStreams::pulled() const {
  const int32_t most = options_.max_batch_size;
  return {.each = {.max_in_flight = options_.max_in_flight,
                   .warm_up_samples = {
                       {.rows = 1, .took = options_.compute.Of(1)},
                       {.rows = most, .took = options_.compute.Of(most)}}}};
}

bool VirtualStreams::HasRoom(InstanceId) const {
  return gathering_ == nullptr && not_computed_ < options_.max_in_flight;
}

void VirtualStreams::Begin(InstanceId, BatchPtr batch) {
  gathered_ = clock_.Now() + options_.gather.Of(batch->rows());
  gathering_ = std::move(batch);
  ++not_computed_;
}

TimePoint VirtualStreams::next_start() const {
  return gathering_ == nullptr ? kNever : gathered_;
}

TimePoint VirtualStreams::next_seen() const {
  if (in_flight_.empty()) {
    return kNever;
  }
  const int32_t place = in_flight_.front().place;
  return std::max(waits_since_, is_computed_ ? model_.copied_out(place)
                                             : model_.computed(place));
}

TimePoint VirtualStreams::next_event() const {
  return std::min(next_start(), next_seen());
}

void VirtualStreams::PlayNext() {
  if (next_start() <= next_seen()) {
    DevicePipeline::InFlight next = pipeline_.Begin(std::move(gathering_));
    next.gather = options_.gather.Of(next.batch->rows());
    pipeline_.Submit(next);
    in_flight_.push_back(std::move(next));
    return;
  }
  waits_since_ = clock_.Now();
  if (!is_computed_) {
    is_computed_ = true;
    BatchTimes times;
    const Computed computed = pipeline_.Await(in_flight_.front(), times);
    --not_computed_;
    scheduler().Finished(*in_flight_.front().batch, 0, times, computed);
    return;
  }
  is_computed_ = false;
  DevicePipeline::InFlight done = std::move(in_flight_.front());
  in_flight_.pop_front();
  BatchPtr batch = pipeline_.Unload(std::move(done));
  if (pipeline_.is_lost()) {
    scheduler().DeviceLost();
  }
  Deliver(std::move(batch));
}

}  // namespace ferry

// Implements RunVirtual(): plays arrivals, ends, and the moments at which
// instances pull, in the order of their times.
#include "bench/virtual/virtual_run.h"

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <random>
#include <utility>

#include "base/check.h"
#include "bench/arrivals/random_stream.h"
#include "bench/arrivals/renewal_arrivals.h"

namespace ferry::bench {
namespace {

class VirtualRun;

// Seeds of streams that have nothing to do with each other.
uint64_t Mixed(uint64_t seed, uint64_t stream) {
  std::seed_seq sequence{seed, seed >> 32, stream};
  std::array<uint32_t, 2> words{};
  sequence.generate(words.begin(), words.end());
  return (uint64_t{words[0]} << 32) + words[1];
}

// A request and its way back to the run.
class VirtualCall final : public Completion {
 public:
  explicit VirtualCall(VirtualRun& run) : run_(run) {}

  InferRequest& Prepare(const VirtualClass& its_class, int32_t class_index);

  void Respond(const RequestResult& result) override;

 private:
  VirtualRun& run_;
  int32_t class_index_ = 0;
  std::array<int64_t, 1> dims_{};
  std::array<TensorView, 1> inputs_{};
  InferRequest request_;
};

// Requests of one class and when the next comes.
struct Source {
  Source(const VirtualClass& its_class, int32_t its_index, uint64_t seed)
      : what(its_class),
        index(its_index),
        gaps(its_class.per_second / its_class.mean_burst, Mixed(seed, 1)),
        sizes(Mixed(seed, 2)) {}

  const VirtualClass& what;
  const int32_t index;
  PoissonArrivals gaps;
  RandomStream sizes;
  TimePoint next;
};

class VirtualRun {
 public:
  VirtualRun(const VirtualRunOptions& options,
             const std::function<void(const VirtualRecord&)>& log)
      : options_(options), log_(log), end_(clock_.Now() + options.duration) {
    for (size_t i = 0; i < options.classes.size(); ++i) {
      Source& source =
          sources_.emplace_back(options.classes[i], static_cast<int32_t>(i),
                                Mixed(options.seed, 10 + i));
      source.next = clock_.Now() + source.gaps.NextGap();
    }
  }

  absl::StatusOr<VirtualRunResult> Run() {
    device_ = MakeDevice();
    SchedulerOptions scheduling = options_.scheduler;
    scheduling.clock = &clock_;
    auto scheduler = Scheduler::Create(device_->pulled(), scheduling);
    if (!scheduler.ok()) {
      return scheduler.status();
    }
    scheduler_ = *std::move(scheduler);
    device_->Attach(*scheduler_);
    VirtualRunResult result{.counted = SchedulerStatistics(1)};
    Play(result);
    result.batches = device_->batches();
    result.rows = device_->rows();
    result.counted = scheduler_->Snapshot();
    device_.reset();  // gives back its batches
    scheduler_.reset();
    return result;
  }

  void Ended(const InferRequest& request, int32_t class_index,
             absl::StatusCode code, bool was_refused) {
    log_({request.arrival, clock_.Now(), class_index, code, was_refused});
  }
  void TakeBack(VirtualCall& call) { idle_calls_.push_back(&call); }

 private:
  std::unique_ptr<VirtualInstances> MakeDevice() const {
    if (options_.streams.has_value()) {
      return std::make_unique<VirtualStreams>(*options_.streams, clock_);
    }
    VirtualDeviceOptions device = options_.device;
    device.seed = Mixed(options_.seed, 0);
    return std::make_unique<VirtualDevice>(device, clock_);
  }

  void Play(VirtualRunResult& result) {
    device_->Pull();
    for (;;) {
      Source& source = *std::min_element(
          sources_.begin(), sources_.end(),
          [](const Source& a, const Source& b) { return a.next < b.next; });
      const TimePoint next =
          std::min({source.next, device_->next_event(), device_->next_pull()});
      if (next > end_ && !has_ended_) {
        has_ended_ = true;
        result.busy = device_->busy();
        for (Source& each : sources_) {
          each.next = kNever;
        }
        continue;
      }
      if (next == kNever) {
        return;
      }
      clock_.MoveTo(std::max(clock_.Now(), next));
      if (device_->next_event() <= clock_.Now()) {
        device_->PlayNext();
      } else if (source.next <= clock_.Now()) {
        Arrive(source);
      }
      device_->Pull();
    }
  }

  void Arrive(Source& source) {
    const int64_t count = source.sizes.Geometric(source.what.mean_burst);
    for (int64_t i = 0; i < count; ++i) {
      if (idle_calls_.empty()) {
        idle_calls_.push_back(&calls_.emplace_back(*this));
      }
      VirtualCall& call = *idle_calls_.back();
      idle_calls_.pop_back();
      InferRequest& request = call.Prepare(source.what, source.index);
      const absl::Status status = scheduler_->Submit(request);
      if (!status.ok()) {
        Ended(request, source.index, status.code(), true);
        TakeBack(call);
      }
    }
    source.next += source.gaps.NextGap();
  }

  const VirtualRunOptions& options_;
  const std::function<void(const VirtualRecord&)>& log_;
  VirtualClock clock_;
  const TimePoint end_;
  bool has_ended_ = false;  // no more arrivals
  std::deque<Source> sources_;
  std::deque<VirtualCall> calls_;
  std::vector<VirtualCall*> idle_calls_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<VirtualInstances> device_;
};

InferRequest& VirtualCall::Prepare(const VirtualClass& its_class,
                                   int32_t class_index) {
  class_index_ = class_index;
  dims_ = {its_class.width};
  inputs_ = {TensorView{.dims = dims_, .segments = {}}};
  request_.Reset();
  request_.inputs = inputs_;
  request_.rows = its_class.rows;
  request_.shape_key = ShapeKey(inputs_);
  request_.level = its_class.level;
  request_.timeout = its_class.timeout;
  request_.completion = this;
  return request_;
}

void VirtualCall::Respond(const RequestResult& result) {
  run_.Ended(request_, class_index_, result.outcome.code, false);
  run_.TakeBack(*this);
}

}  // namespace

absl::StatusOr<VirtualRunResult> RunVirtual(
    const VirtualRunOptions& options,
    const std::function<void(const VirtualRecord&)>& log) {
  Check(!options.classes.empty(), "a class sends requests");
  return VirtualRun(options, log).Run();
}

}  // namespace ferry::bench

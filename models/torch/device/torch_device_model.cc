// Implements TorchDeviceModel: the steps of a batch, and warm-up one by one.
#include "models/torch/device/torch_device_model.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <new>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "batcher/batch_buckets.h"
#include "models/failure_log.h"
#include "models/torch/warm_up.h"
#include "models/type_failures.h"

namespace ferry {
namespace {

// One computes, one is copied in, one is copied out.
constexpr int32_t kPlaces = 3;

}  // namespace

TorchDeviceModel::TorchDeviceModel(std::unique_ptr<Network> network,
                                   const ModelOptions& options,
                                   DeviceRuntime& runtime, Halves halves)
    : options_(options),
      halves_(halves),
      runtime_(runtime),
      streams_(runtime.MakeStreams()),
      memory_(std::make_shared<StagingMemory>(runtime)),
      network_(std::move(network)),
      graphs_(*network_, *streams_, options.use_graphs),
      fit_(options_),
      outputs_(options_, runtime.device(), memory_, *streams_),
      staged_(options.spec.inputs.size()),
      most_rows_(std::max(options.spec.max_batch_size, 1)) {
  for (size_t i = 0; i < options_.spec.inputs.size(); ++i) {
    inputs_.emplace_back(options_, i, *network_, *memory_, *streams_);
  }
  for (int32_t i = 0; i < kPlaces; ++i) {
    places_.push_back(MakePlace());
  }
}

// What was started may still use what goes now.
TorchDeviceModel::~TorchDeviceModel() {
  for (const Place& place : places_) {
    const absl::Status ignored = Guarded([&] {
      place.copied_in->Await();
      place.computed->Await();
      place.copied_out->Await();
      return absl::OkStatus();
    });
  }
}

TorchDeviceModel::Place TorchDeviceModel::MakePlace() {
  Place place;
  for (DeviceInput& input : inputs_) {
    place.inputs.emplace_back(*memory_);
    input.Reserve(place.inputs.back());
  }
  place.outputs = outputs_.MakeRooms();
  for (auto* const event :
       {&place.copy_begin, &place.copied_in, &place.compute_begin,
        &place.computed, &place.copied_out}) {
    *event = streams_->MakeEvent();
  }
  return place;
}

// --- warm-up -----------------------------------------------------------------

absl::Status TorchDeviceModel::WarmUp() {
  at::set_num_threads(options_.threads);  // of operators on the processor
  bool is_lost = false;
  const auto run_batch = [&](const Batch& batch) {
    const absl::Status status = RunBatch(batch);
    is_lost = is_lost || (!status.ok() && runtime_.IsLost());
    return status;
  };
  // Some to record a graph, one to record it, one to launch it.
  const int runs =
      std::max(network_->warm_up_runs(),
               options_.use_graphs ? ForwardGraphs::kEagerRuns : 0) +
      2;
  ferry::WarmUp warm_up(options_, runs,
                        runtime_.device().is_cpu() ? MadeUpIntegers::kAny
                                                   : MadeUpIntegers::kZeros,
                        run_batch);
  absl::Status status;
  {
    runtime_.BeginWarmUp();
    const absl::Cleanup end = [this] { runtime_.EndWarmUp(); };
    status = warm_up.Run();
  }
  if (is_lost) {  // whatever the model may have to do with it
    return absl::UnavailableError(absl::StrCat(
        "the device is lost: ",
        status.ok() ? warm_up.failure() : std::string(status.message())));
  }
  status.Update(Guarded([&] {
    outputs_.EndWarmUp();
    return absl::OkStatus();
  }));
  warm_up_times_ = std::move(warm_up.times());
  warm_up_failure_ = warm_up.failure();
  options_.warm_up.clear();
  options_.must_run.reset();  // clients' rows
  is_warming_up_ = false;
  if (const std::string why_not = graphs_.EndWarmUp(); !why_not.empty()) {
    LogModelFailure(options_.name, "record", absl::InternalError(why_not));
  }
  for (Place& place : places_) {
    place.warmed = {};
  }
  FreeKept();  // of the runs before there were graphs
  memory_->EndWarmUp();
  return status;
}

void TorchDeviceModel::FreeKept() {
  const absl::Status freed = Guarded([&] {
    runtime_.FreeKept();
    return absl::OkStatus();
  });
  if (!freed.ok()) {
    LogModelFailure(options_.name, "freeing memory", freed);
  }
}

// A batch from end to end; of what is thrown, says with which inputs.
absl::Status TorchDeviceModel::RunBatch(const Batch& batch) {
  std::rotate(places_.begin(), places_.begin() + 1, places_.end());
  Place& place = places_.front();
  place.warmed = {};
  absl::Status status = CopyRowsIn(place, batch);
  if (status.ok()) {
    // Kept for a while, so that the pool has as many as are under way.
    status = ComputeRows(place, batch, place.warmed);
  }
  const absl::Status ended = Guarded([&] {
    place.computed->Await();
    place.copied_out->Await();
    outputs_.Finish(place.outputs);
    return absl::OkStatus();
  });
  DeviceOutputs::Forget(place.outputs);
  status.Update(ended);
  return WithInputs(status, options_.spec, staged_);
}

// --- a batch -----------------------------------------------------------------

absl::Status TorchDeviceModel::CopyRowsIn(Place& place, const Batch& batch) {
  absl::Status status = WithMemory([&] {
    // Passed long ago, but for a batch that failed on its way.
    place.copied_in->Await();
    place.computed->Await();
    place.copied_out->Await();
    place.copy_begin->Record(DeviceStream::kCopyIn);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      inputs_[i].CopyIn(batch, place.inputs[i]);
    }
    return absl::OkStatus();
  });
  // Also where something of it was started before it failed.
  status.Update(Guarded([&] {
    place.copied_in->Record(DeviceStream::kCopyIn);
    return absl::OkStatus();
  }));
  return status;
}

absl::Status TorchDeviceModel::ComputeRows(Place& place, const Batch& batch,
                                           OutputRef& output) {
  int32_t next = 0;
  absl::Status status = PutCompute(place, batch, next);
  if (absl::IsResourceExhausted(status) && Halve(RangeFrom(next, batch))) {
    LogModelFailure(options_.name, "forward", status);
    status = PutCompute(place, batch, next);
  }
  if (!status.ok()) {
    return status;
  }
  status = WithMemory([&] {
    place.computed->Block(DeviceStream::kCopyOut);
    outputs_.CopyOut(batch, place.outputs, output);
    return absl::OkStatus();
  });
  status.Update(Guarded([&] {
    place.copied_out->Record(DeviceStream::kCopyOut);
    return absl::OkStatus();
  }));
  return status;
}

// The rows from `next` on, in a turn; `next` is then the first that was not put
// on the device. Memory is freed after the turn, which may take long: others
// compute meanwhile.
absl::Status TorchDeviceModel::PutCompute(Place& place, const Batch& batch,
                                          int32_t& next) {
  return WithMemory([&] {
    absl::Status status;
    absl::Status marked;
    const auto put = [&] {
      // Also where something of it was put there before it failed.
      const absl::Cleanup mark = [&] {
        marked = Guarded([&] {
          place.computed->Record(DeviceStream::kCompute);
          return absl::OkStatus();
        });
      };
      place.copied_in->Block(DeviceStream::kCompute);
      if (next == 0) {  // else what was put there before counts, too
        place.compute_begin->Record(DeviceStream::kCompute);
      }
      streams_->Run(DeviceStream::kCompute,
                    [&] { status = ComputePieces(place, batch, next); });
    };
    if (is_warming_up_) {
      put();
    } else {
      streams_->TakeTurn(put);
    }
    status.Update(marked);
    return status;
  });
}

absl::Status TorchDeviceModel::ComputePieces(Place& place, const Batch& batch,
                                             int32_t& next) {
  while (next < batch.rows()) {
    const RowRange rows = RangeFrom(next, batch);
    if (absl::Status status = ComputePiece(place, batch, rows); !status.ok()) {
      return status;
    }
    runtime_.TakeOutOfMemory();  // what it has recovered from
    next += rows.count;
  }
  return absl::OkStatus();
}

RowRange TorchDeviceModel::RangeFrom(int32_t first, const Batch& batch) const {
  const int32_t count = std::min(batch.rows() - first, most_rows_);
  return {.first = first,
          .count = count,
          .padded = PaddedRows(options_.buckets, count)};
}

// RESOURCE_EXHAUSTED where there was no memory of the device, whatever says so
// and how, or none of the host that the device can read.
absl::Status TorchDeviceModel::WithMemory(
    absl::FunctionRef<absl::Status()> work) {
  runtime_.TakeOutOfMemory();  // of an earlier one
  absl::Status status = Guarded([&] {
    try {
      return work();
    } catch (const std::bad_alloc& error) {
      return absl::ResourceExhaustedError(error.what());
    }
  });
  if (!status.ok() &&
      (absl::IsResourceExhausted(status) || runtime_.TakeOutOfMemory())) {
    FreeKept();
    status = absl::ResourceExhaustedError(status.message());
  }
  return status;
}

absl::Status TorchDeviceModel::ComputePiece(Place& place, const Batch& batch,
                                            const RowRange& rows) {
  const absl::Cleanup forget = [this] { given_.clear(); };
  for (size_t i = 0; i < inputs_.size(); ++i) {
    staged_[i] = {};
    staged_[i] = inputs_[i].Stage(batch, rows, place.inputs[i]);
  }
  absl::Status status = graphs_.Forward(staged_, given_);
  if (status.ok()) {
    status = fit_.Fit(staged_, rows.padded, given_);
  }
  return status.ok() ? outputs_.Put(batch, rows, given_, place.outputs)
                     : status;
}

// To the largest bucket that is no more than half of what was run; without
// buckets to half. Returns false where there is none, or rows may meet.
bool TorchDeviceModel::Halve(const RowRange& rows) {
  if (halves_ == Halves::kNone) {
    return false;
  }
  int32_t half = rows.padded / 2;
  if (!options_.buckets.empty()) {
    const auto above = std::upper_bound(options_.buckets.begin(),
                                        options_.buckets.end(), half);
    half = above == options_.buckets.begin() ? 0 : *std::prev(above);
  }
  if (half == 0) {
    return false;
  }
  most_rows_ = half;
  out_of_memory_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

DeviceOutcome TorchDeviceModel::Told(const absl::Status& status,
                                     const char* step, const char* text) {
  if (status.ok()) {
    return {};
  }
  const uint32_t reason = LogModelFailure(options_.name, step, status);
  if (runtime_.IsLost()) {
    return {
        .outcome = {absl::StatusCode::kInternal, "the device is lost", reason},
        .is_lost = true};
  }
  if (absl::IsResourceExhausted(status)) {
    out_of_memory_.fetch_add(1, std::memory_order_relaxed);
    return {.outcome = {absl::StatusCode::kResourceExhausted,
                        "the device has no memory for this batch", reason}};
  }
  return {.outcome = {absl::StatusCode::kInternal, text, reason}};
}

DeviceOutcome TorchDeviceModel::CopyIn(int32_t place, const Batch& batch) {
  return Told(CopyRowsIn(place_at(place), batch), "copy in",
              "the inputs could not be staged");
}

DeviceOutcome TorchDeviceModel::Compute(int32_t place, const Batch& batch,
                                        OutputRef& output) {
  const absl::Status status = ComputeRows(place_at(place), batch, output);
  if (absl::IsInternal(status) && options_.type_failures != nullptr) {
    options_.type_failures->Note(batch, status.message(),
                                 Clock::Steady().Now());
  }
  return Told(status, "forward", "the model failed on this batch");
}

DeviceOutcome TorchDeviceModel::AwaitComputed(int32_t place,
                                              DeviceTimes& times) {
  Place& used = place_at(place);
  const absl::Status status = Guarded([&] {
    used.computed->Await();
    times.copy_in = used.copied_in->Since(*used.copy_begin);
    times.compute = used.computed->Since(*used.compute_begin);
    return absl::OkStatus();
  });
  return Told(status, "forward", "the model failed on this batch");
}

DeviceOutcome TorchDeviceModel::AwaitCopiedOut(int32_t place) {
  Place& used = place_at(place);
  const absl::Status status = Guarded([&] {
    used.copied_out->Await();
    outputs_.Finish(used.outputs);
    return absl::OkStatus();
  });
  DeviceOutputs::Forget(used.outputs);
  return Told(status, "copy out", "the outputs could not be copied");
}

std::optional<Duration> TorchDeviceModel::IdleBetween(int32_t before,
                                                      int32_t place) {
  std::optional<Duration> idle;
  const absl::Status status = Guarded([&] {
    idle = place_at(place).compute_begin->Since(*place_at(before).computed);
    return absl::OkStatus();
  });
  return status.ok() ? idle : std::nullopt;
}

std::vector<DeviceCount> TorchDeviceModel::counts() const {
  const ForwardGraphs::Counts& of = graphs_.counts();
  return {{"graph_launched", of.launched.load()},
          {"graphs_off", of.off.load()},
          {"no_graph", of.not_recorded.load()},
          {"no_graph_of_these_sizes", of.other_sizes.load()},
          {"out_of_memory", out_of_memory_.load()},
          {"staging_grown", memory_->grown()}};
}

}  // namespace ferry

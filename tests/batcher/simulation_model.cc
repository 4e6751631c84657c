// Implements the model that a simulation checks against.
#include <algorithm>

#include "tests/batcher/simulation.h"

namespace ferry {

TimePoint Simulation::DueOf(const InferRequest& request) const {
  const LevelOptions& level =
      options_.scheduler.levels[static_cast<size_t>(request.level)];
  TimePoint due = request.deadline;
  const bool has_default = level.default_timeout > Duration(0);
  if (has_default) {
    due = std::min(due, Now() + level.default_timeout);
  }
  if (request.timeout > Duration(0) && (!has_default || level.may_shorten)) {
    due = std::min(due, Now() + request.timeout);
  }
  return due;
}

std::optional<Refusal> Simulation::ExpectedRefusal(
    const InferRequest& request) const {
  const RuntimeOptions& options = runtime_;
  if (request.rows > options.queue.rows ||
      static_cast<int64_t>(request.bytes) > options.queue.bytes) {
    return Refusal::kTooLarge;
  }
  if (is_broken_) {
    return Refusal::kBroken;
  }
  if (DueOf(request) <= Now()) {
    return Refusal::kExpired;
  }
  if (is_draining_) {
    return Refusal::kDraining;
  }
  if (std::ssize(queued_) + 1 > options.queue.requests) {
    return Refusal::kQueueRequests;
  }
  if (QueuedRows() + request.rows > options.queue.rows) {
    return Refusal::kQueueRows;
  }
  const int32_t max_of_level =
      options_.scheduler.levels[static_cast<size_t>(request.level)]
          .max_requests;
  if (options_.scheduler.levels.size() > 1 && max_of_level > 0 &&
      QueuedRequests(request.level) + 1 > max_of_level) {
    return Refusal::kQueueLevel;
  }
  if (KeptBytes() + static_cast<int64_t>(request.bytes) > options.queue.bytes) {
    return Refusal::kQueueBytes;
  }
  return std::nullopt;
}

bool Simulation::Fits(size_t requests, int32_t rows, const Call& call) const {
  return static_cast<int32_t>(requests) <
             options_.scheduler.max_requests_per_batch &&
         rows + call.test.request().rows <= runtime_.max_batch_size;
}

bool Simulation::IsBehindAnother(const InferRequest& request) const {
  return options_.scheduler.preserve_ordering &&
         std::any_of(queued_.begin(), queued_.end(), [&](const Call* call) {
           const InferRequest& other = call->test.request();
           return other.arrival < request.arrival &&
                  !SameShape(other.inputs, request.inputs);
         });
}

bool Simulation::IsClosedByAnother(const InferRequest& first) const {
  return options_.scheduler.preserve_ordering &&
         std::any_of(queued_.begin(), queued_.end(), [&](const Call* call) {
           return !SameShape(call->test.request().inputs, first.inputs);
         });
}

bool Simulation::IsEnough(int32_t rows) const {
  const int32_t enough = options_.scheduler.enough_rows;
  return enough > 0 && rows >= enough;
}

bool Simulation::CanGrow(const Call& oldest) const {
  size_t requests = 0;
  int32_t rows = 0;
  for (const Call* call : queued_) {
    if (SameShape(call->test.request().inputs, oldest.test.request().inputs)) {
      ++requests;
      rows += call->test.request().rows;
    }
  }
  return !IsClosedByAnother(oldest.test.request()) &&
         rows < runtime_.max_batch_size && !IsEnough(rows) &&
         static_cast<int32_t>(requests) <
             options_.scheduler.max_requests_per_batch;
}

// Whether an idle instance may be given a batch.
bool Simulation::HasRoom() const {
  std::vector<int32_t> computing(static_cast<size_t>(options_.instances.count));
  const ScriptedInstances& instances = stepped_.instances();
  for (size_t i = 0; i < instances.running_count(); ++i) {
    computing[static_cast<size_t>(instances.instance(i))] +=
        instances.is_computed(i) ? 0 : 1;
  }
  return std::count(computing.begin(), computing.end(), 0) > 0 &&
         std::ssize(under_way_) < MostUnderWay();
}

int32_t Simulation::MostUnderWay() const {
  return options_.instances.count * options_.instances.max_in_flight +
         options_.scheduler.max_undelivered_batches;
}

int32_t Simulation::QueuedRows() const {
  int32_t rows = 0;
  for (const Call* call : queued_) {
    rows += call->test.request().rows;
  }
  return rows;
}

int32_t Simulation::QueuedRequests(int32_t level) const {
  return static_cast<int32_t>(
      std::count_if(queued_.begin(), queued_.end(), [level](const Call* call) {
        return call->test.request().level == level;
      }));
}

// Bytes of what is queued or started and not computed.
int64_t Simulation::KeptBytes() const {
  size_t bytes = 0;
  for (const Call* call : queued_) {
    bytes += call->test.request().bytes;
  }
  const ScriptedInstances& instances = stepped_.instances();
  for (size_t i = 0; i < instances.running_count(); ++i) {
    bytes += instances.is_computed(i) ? 0 : instances.batch(i).bytes();
  }
  return static_cast<int64_t>(bytes);
}

}  // namespace ferry

// Who is refused at the door, and what they are told.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "batcher/batcher.h"

namespace ferry {

TimePoint Batcher::DueOf(const InferRequest& request) const {
  const LevelOptions& level =
      options_.levels[static_cast<size_t>(request.level)];
  Duration timeout = level.default_timeout;
  if (request.timeout > Duration(0) &&
      (timeout == Duration(0) ||
       (level.may_shorten && request.timeout < timeout))) {
    timeout = request.timeout;
  }
  if (timeout == Duration(0) || timeout >= kNever - request.arrival) {
    return request.deadline;
  }
  return std::min(request.deadline, request.arrival + timeout);
}

bool Batcher::IsToBeDelayed(const InferRequest& request) const {
  return options_.levels[static_cast<size_t>(request.level)].delays_late &&
         request.due < request.deadline;
}

bool Batcher::WouldMiss(const InferRequest& request) const {
  if (request.due == kNever) {
    return false;
  }
  WaitForecast::Ahead ahead = {
      .rows_of_level = admission_.RowsOf(request.level),
      .rows_up_to_level = admission_.RowsUpTo(request.level),
      .lane_has_ended =
          compute_ends_.load(std::memory_order_relaxed) !=
          compute_ends_published_.load(std::memory_order_relaxed)};
  const auto misses = [&](TimePoint due) {
    return wait_forecast_.FinishOf(request.level, ahead,
                                   {request.rows, request.shape_key, due},
                                   request.arrival) > due;
  };
  if (!IsToBeDelayed(request)) {
    return misses(request.due);
  }
  // Delayed itself it comes behind all others; in time it overtakes those.
  if (request.deadline == kNever || !misses(request.deadline)) {
    return false;
  }
  const int64_t overtaken =
      std::min(wait_forecast_.DelayedRows(request.level), ahead.rows_of_level);
  ahead.rows_of_level -= overtaken;
  ahead.rows_up_to_level -= overtaken;
  return misses(request.due);
}

int32_t Batcher::MaxRequestRows(int32_t level) const {
  const QueueBounds bounds = admission_.bounds();
  const int32_t of_level =
      options_.levels[static_cast<size_t>(level)].max_requests;
  const int64_t parts =
      of_level > 0 ? std::min(bounds.requests, of_level) : bounds.requests;
  return static_cast<int32_t>(std::min<int64_t>(
      parts * max_batch_size_.load(std::memory_order_relaxed), bounds.rows));
}

Refusal Batcher::RefusalFor(Admission::Verdict verdict) const {
  switch (verdict) {
    case Admission::Verdict::kRequestsFull:
      return Refusal::kQueueRequests;
    case Admission::Verdict::kLevelFull:
      return Refusal::kQueueLevel;
    case Admission::Verdict::kRowsFull:
      return Refusal::kQueueRows;
    case Admission::Verdict::kBytesFull:
      return Refusal::kQueueBytes;
    case Admission::Verdict::kAdmitted:
    case Admission::Verdict::kClosed:
      break;
  }
  return broken() ? Refusal::kBroken : Refusal::kDraining;
}

absl::Status Batcher::Refuse(Refusal reason, const InferRequest& request) {
  refused_[static_cast<size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
  const QueueBounds bounds = admission_.bounds();
  switch (reason) {
    case Refusal::kTooLarge:
      return request.rows > MaxRequestRows(request.level)
                 ? absl::InvalidArgumentError(
                       absl::StrCat("request batch size: expected at most ",
                                    MaxRequestRows(request.level),
                                    " rows, which is all the queue holds, got ",
                                    request.rows))
                 : absl::InvalidArgumentError(absl::StrCat(
                       "request size: expected at most ", bounds.bytes,
                       " bytes, which is all the queue holds, got ",
                       request.bytes));
    case Refusal::kQueueRequests:
      return absl::ResourceExhaustedError(absl::StrCat(
          "queue is full: it holds at most ", bounds.requests, " requests"));
    case Refusal::kQueueLevel:
      return absl::ResourceExhaustedError(absl::StrCat(
          "queue is full: it holds at most ",
          options_.levels[static_cast<size_t>(request.level)].max_requests,
          " requests of this priority"));
    case Refusal::kQueueRows:
      return absl::ResourceExhaustedError(absl::StrCat(
          "queue is full: it holds at most ", bounds.rows, " rows"));
    case Refusal::kQueueBytes:
      return absl::ResourceExhaustedError(
          absl::StrCat("queue is full: it holds at most ", bounds.bytes,
                       " bytes, the request brings ", request.bytes));
    case Refusal::kExpired:
      return absl::DeadlineExceededError(
          "request had passed its deadline when it arrived");
    case Refusal::kWouldMiss:
      return absl::ResourceExhaustedError(
          "the queue and the model need longer than the request's deadline");
    case Refusal::kDraining:
      return absl::UnavailableError(
          "server is draining and takes no new requests");
    case Refusal::kBroken:
      break;
  }
  return absl::UnavailableError(kDeviceLost.text);
}

}  // namespace ferry

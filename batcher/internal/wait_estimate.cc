// Implements WaitEstimate: adds the batches ahead and the request's own.
#include "batcher/internal/wait_estimate.h"

#include <algorithm>
#include <cmath>

namespace ferry {
namespace {

constexpr double kMostMargin = 0.25;  // of the slack

double Nanos(Duration duration) {
  return static_cast<double>(duration.count());
}

}  // namespace

void WaitEstimate::Publish(const Queue& queue, absl::Span<const Shape> shapes) {
  for (size_t i = 0; i < shapes.size(); ++i) {
    shapes_[i].Store(shapes[i]);
  }
  queue_.Store(queue);
}

void WaitEstimate::PublishLevel(int32_t level, const Level& facts) {
  levels_[static_cast<size_t>(level)].Store(facts);
}

WaitEstimate::Shape WaitEstimate::ShapeOf(const Queue& queue,
                                          uint64_t shape_key) const {
  for (int64_t i = 0; i < queue.shape_count; ++i) {
    const Shape shape = shapes_[static_cast<size_t>(i)].Load();
    if (shape.key == shape_key) {
      return shape;
    }
  }
  return {.key = shape_key,
          .valid_until =
              queue.shapes_differ != 0 ? TimePoint::min() : queue.valid_until,
          .own = queue.own};
}

bool WaitEstimate::TakeProbe(uint64_t shape_key, TimePoint now) {
  const Queue queue = queue_.Load();
  if ((now <= queue.valid_until &&
       now <= ShapeOf(queue, shape_key).valid_until) ||
      (refused_stale_.fetch_add(1, std::memory_order_relaxed) + 1) % kProbe !=
          0) {
    return false;
  }
  int64_t from_ns = next_probe_ns_.load(std::memory_order_relaxed);
  return ToNanos(now) >= from_ns &&
         next_probe_ns_.compare_exchange_strong(
             from_ns, ToNanos(now + kValid + 8 * queue.full_batch),
             std::memory_order_relaxed);
}

TimePoint WaitEstimate::FinishOf(const Request& request, const Ahead& ahead,
                                 TimePoint now) const {
  const Queue queue = queue_.Load();
  if (now > queue.valid_until) {
    return now + queue.fastest;
  }
  const OwnBatch own = ShapeOf(queue, request.shape_key).own;
  const int64_t rows_before = ahead.rows_up_to_level + request.rows - 1;
  const int64_t batches = rows_before / queue.full_rows;
  const int64_t own_batches = ahead.rows_of_level / queue.full_rows;
  // Those that find an idle instance are not waited for.
  const auto in_turns = [&](int64_t count) {
    const int64_t at_once = std::max<int64_t>(queue.idle_instances - 1, 0);
    return static_cast<double>(std::max<int64_t>(count - at_once, 0));
  };
  const double full_ns = Nanos(queue.full_batch);
  const double share = levels_[static_cast<size_t>(request.level)].Load().share;
  // The level has only its share of the device's time: more urgent requests may
  // yet come.
  const double wait_ns =
      std::max(in_turns(batches) * full_ns + Nanos(queue.partial_batches),
               in_turns(own_batches) * full_ns / share) /
      static_cast<double>(queue.instances);
  // Behind a full batch the own one is full, too, by the time its turn comes.
  const double fill =
      batches > 0 || queue.full_rows == 1
          ? 1
          : std::min(1.0, static_cast<double>(rows_before) /
                              static_cast<double>(queue.full_rows - 1));
  const auto between = [fill](Duration one_row, Duration full) {
    return Nanos(one_row) + fill * (Nanos(full) - Nanos(one_row));
  };
  const double own_ns = between(own.one_row, own.full);
  const double slack_ns = Nanos(request.due - now) - own_ns;
  const double margin_ns =
      std::min(between(own.one_row_margin, own.full_margin),
               std::max(0.0, slack_ns * kMostMargin));
  return std::max(now, queue.free_at) +
         Duration(std::llround(wait_ns + own_ns + margin_ns));
}

}  // namespace ferry

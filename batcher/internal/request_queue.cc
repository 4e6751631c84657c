// Implements RequestQueue: links requests in lists by shape and level.
#include "batcher/internal/request_queue.h"

#include <algorithm>

#include "base/check.h"

namespace ferry {

void ShapeGroup::Append(InferRequest& request) {
  Level& level = levels_[static_cast<size_t>(request.level)];
  Link(request, level);
  level.rows += request.rows;
  rows_ += request.rows;
  ++requests_;
}

void ShapeGroup::Remove(InferRequest& request) {
  Level& level = levels_[static_cast<size_t>(request.level)];
  Unlink(request, level);
  level.rows -= request.rows;
  rows_ -= request.rows;
  --requests_;
}

void ShapeGroup::Delay(InferRequest& request) {
  Level& level = levels_[static_cast<size_t>(request.level)];
  Unlink(request, level);
  request.is_delayed = true;
  Link(request, level);
}

// Among those that are delayed like it, or not, by its number; the newest of
// them is looked at first.
void ShapeGroup::Link(InferRequest& request, Level& level) {
  InferRequest* next = request.is_delayed ? nullptr : level.first_delayed;
  InferRequest* last = next == nullptr ? level.newest : next->older;
  while (last != nullptr && last->is_delayed == request.is_delayed &&
         last->queue_number > request.queue_number) {
    next = last;
    last = last->older;
  }
  request.older = last;
  request.newer = next;
  (last == nullptr ? level.oldest : last->newer) = &request;
  (next == nullptr ? level.newest : next->older) = &request;
  if (request.is_delayed && next == level.first_delayed) {
    level.first_delayed = &request;
  }
}

void ShapeGroup::Unlink(InferRequest& request, Level& level) {
  if (level.first_delayed == &request) {
    level.first_delayed = request.newer;
  }
  (request.older == nullptr ? level.oldest : request.older->newer) =
      request.newer;
  (request.newer == nullptr ? level.newest : request.newer->older) =
      request.older;
}

int32_t ShapeGroup::most_urgent_level() const {
  for (size_t i = 0; i < levels_.size(); ++i) {
    if (levels_[i].oldest != nullptr) {
      return static_cast<int32_t>(i);
    }
  }
  Check(false, "a group in the queue holds requests");
  return 0;
}

TimePoint ShapeGroup::oldest_arrival() const {
  TimePoint oldest = kNever;
  for (const Level& level : levels_) {
    for (const InferRequest* first : {level.oldest, level.first_delayed}) {
      if (first != nullptr) {
        oldest = std::min(oldest, first->arrival);
      }
    }
  }
  return oldest;
}

TimePoint ShapeGroup::earliest_due() const {
  TimePoint earliest = kNever;
  for (const Level& level : levels_) {
    for (const InferRequest* each = level.oldest; each != nullptr;
         each = each->newer) {
      earliest = std::min(earliest, each->due);
    }
  }
  return earliest;
}

RequestQueue::RequestQueue(int32_t max_requests, int32_t levels)
    : levels_(levels),
      level_rows_(static_cast<size_t>(levels)),
      delayed_rows_(static_cast<size_t>(levels)),
      deadlines_(max_requests) {}

void RequestQueue::Append(InferRequest& request) {
  Check(request.level >= 0 && request.level < levels_,
        "a request's level is one of the queue's");
  ShapeGroup& group = GroupOf(request);
  request.is_delayed = false;
  request.queue_number = ++appended_;
  group.Append(request);
  ++requests_;
  rows_ += request.rows;
  level_rows_[static_cast<size_t>(request.level)] += request.rows;
  if (request.due != kNever) {
    deadlines_.Insert(request);
  }
  request.group = &group;
}

void RequestQueue::Remove(InferRequest& request) {
  Check(request.group != nullptr, "only a queued request is removed");
  ShapeGroup& group = *request.group;
  group.Remove(request);
  --requests_;
  rows_ -= request.rows;
  level_rows_[static_cast<size_t>(request.level)] -= request.rows;
  if (request.is_delayed) {
    delayed_rows_[static_cast<size_t>(request.level)] -= request.rows;
  }
  deadlines_.Remove(request);
  request.group = nullptr;
  if (group.requests() == 0) {
    DropGroup(group);
  }
}

void RequestQueue::Delay(InferRequest& request) {
  Check(request.group != nullptr && !request.is_delayed,
        "only a queued request is delayed, and once");
  request.group->Delay(request);
  delayed_rows_[static_cast<size_t>(request.level)] += request.rows;
  deadlines_.Remove(request);
  request.due = request.deadline;
  if (request.due != kNever) {
    deadlines_.Insert(request);
  }
}

ShapeGroup& RequestQueue::GroupOf(const InferRequest& request) {
  for (size_t i = 0; i < keys_.size(); ++i) {
    // Keys of different shapes are equal in rare cases.
    if (keys_[i] == request.shape_key &&
        SameShape(groups_[i]->any().inputs, request.inputs)) {
      return *groups_[i];
    }
  }
  if (empty_groups_.empty()) {
    all_groups_.push_back(std::make_unique<ShapeGroup>(levels_));
    empty_groups_.push_back(all_groups_.back().get());
  }
  ShapeGroup& group = *empty_groups_.back();
  empty_groups_.pop_back();
  group.index_ = groups_.size();
  groups_.push_back(&group);
  keys_.push_back(request.shape_key);
  return group;
}

void RequestQueue::DropGroup(ShapeGroup& group) {
  groups_.back()->index_ = group.index_;
  groups_[group.index_] = groups_.back();
  keys_[group.index_] = keys_.back();
  groups_.pop_back();
  keys_.pop_back();
  empty_groups_.push_back(&group);
}

}  // namespace ferry

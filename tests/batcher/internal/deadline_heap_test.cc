// Tests DeadlineHeap against a sorted multiset.
#include "batcher/internal/deadline_heap.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <set>

namespace ferry {
namespace {

TEST(DeadlineHeap, EmptyHeapHasNoDeadline) {
  DeadlineHeap heap(4);
  EXPECT_EQ(heap.earliest(), nullptr);
  EXPECT_EQ(heap.earliest_due(), kNever);
}

TEST(DeadlineHeap, RemoveOfARequestThatIsNotInItDoesNothing) {
  DeadlineHeap heap(4);
  InferRequest request;
  heap.Remove(request);
  EXPECT_EQ(heap.earliest(), nullptr);
}

TEST(DeadlineHeap, EqualDeadlinesAreAllKept) {
  DeadlineHeap heap(4);
  InferRequest requests[3];
  for (InferRequest& request : requests) {
    request.due = FromNanos(5);
    heap.Insert(request);
  }
  std::set<InferRequest*> seen;
  while (InferRequest* const request = heap.earliest()) {
    seen.insert(request);
    heap.Remove(*request);
  }
  EXPECT_EQ(seen.size(), 3u);
}

TEST(DeadlineHeap, RandomInsertsAndRemovesKeepTheEarliestOnTop) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    std::mt19937 random(seed);
    std::deque<InferRequest> requests(64);
    std::vector<InferRequest*> outside;
    std::vector<InferRequest*> inside;
    std::multiset<TimePoint> deadlines;
    DeadlineHeap heap(64);
    for (InferRequest& request : requests) {
      outside.push_back(&request);
    }
    for (int step = 0; step < 500; ++step) {
      const bool inserts =
          inside.empty() || (!outside.empty() && random() % 2 == 0);
      auto& from = inserts ? outside : inside;
      std::swap(from[random() % from.size()], from.back());
      InferRequest& request = *from.back();
      from.pop_back();
      if (inserts) {
        request.due = FromNanos(static_cast<int64_t>(random() % 20));
        deadlines.insert(request.due);
        heap.Insert(request);
        inside.push_back(&request);
      } else {
        deadlines.erase(deadlines.find(request.due));
        heap.Remove(request);
        outside.push_back(&request);
      }
      const TimePoint expected =
          deadlines.empty() ? kNever : *deadlines.begin();
      ASSERT_EQ(heap.earliest_due(), expected)
          << "seed " << seed << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace ferry

// Tests that RequestQueue keeps arrival order in each group and level, removes
// from anywhere, and keeps deadlines alongside.
#include "batcher/internal/request_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "tests/support/test_request.h"

namespace ferry {
namespace {

using Requests = std::vector<const InferRequest*>;

Requests Contents(const ShapeGroup::Level& level) {
  Requests contents;
  for (const InferRequest* next = level.oldest; next != nullptr;
       next = next->newer) {
    contents.push_back(next);
  }
  return contents;
}

// Returns the requests of a queue with one shape and one level.
Requests Contents(const RequestQueue& queue) {
  return queue.empty() ? Requests{} : Contents(queue.groups()[0]->levels()[0]);
}

TEST(RequestQueue, RemovesInEveryOrder) {
  std::array<size_t, 4> order = {0, 1, 2, 3};
  do {
    std::array<InferRequest, 4> requests;
    Requests expected;
    RequestQueue queue(4, 1);
    for (InferRequest& request : requests) {
      queue.Append(request);
      expected.push_back(&request);
      EXPECT_NE(request.group, nullptr);
    }
    for (size_t index : order) {
      EXPECT_EQ(Contents(queue), expected);
      queue.Remove(requests[index]);
      EXPECT_EQ(requests[index].group, nullptr);
      expected.erase(
          std::find(expected.begin(), expected.end(), &requests[index]));
    }
    EXPECT_TRUE(queue.empty());
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(RequestQueue, OnlyRequestsWithADeadlineAreInTheHeap) {
  RequestQueue queue(4, 1);
  InferRequest without;
  InferRequest with;
  with.due = FromNanos(3);
  queue.Append(without);
  EXPECT_EQ(queue.deadlines().earliest(), nullptr);
  queue.Append(with);
  EXPECT_EQ(queue.deadlines().earliest(), &with);
  queue.Remove(with);
  EXPECT_EQ(queue.deadlines().earliest(), nullptr);
  EXPECT_EQ(&queue.any(), &without);
}

TEST(RequestQueue, RemovedRequestCanBeAppendedAgain) {
  RequestQueue queue(4, 1);
  InferRequest first;
  InferRequest second;
  queue.Append(first);
  queue.Append(second);
  queue.Remove(first);
  queue.Append(first);
  EXPECT_EQ(Contents(queue), (Requests{&second, &first}));
}

TEST(RequestQueue, DelayedRequestsComeLastAndAreDueAtTheirDeadline) {
  RequestQueue queue(4, 1);
  std::array<InferRequest, 4> requests;
  for (size_t i = 0; i < 3; ++i) {
    requests[i].due = FromNanos(3);
    requests[i].deadline = FromNanos(7);
    queue.Append(requests[i]);
  }
  queue.Delay(requests[0]);
  queue.Delay(requests[2]);
  EXPECT_EQ(queue.deadlines().earliest(), &requests[1]);
  queue.Append(requests[3]);
  EXPECT_EQ(Contents(queue),
            (Requests{&requests[1], &requests[3], &requests[0], &requests[2]}));
  queue.Remove(requests[1]);
  EXPECT_EQ(queue.deadlines().earliest_due(), FromNanos(7));
}

// Against two lists, for every way to append, delay and remove.
TEST(RequestQueue, DelaysInEveryOrder) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 300; ++round) {
    std::array<InferRequest, 6> requests;
    RequestQueue queue(6, 1);
    Requests in_time;
    Requests delayed;
    std::map<const InferRequest*, int> numbers;
    for (int step = 0; step < 30; ++step) {
      InferRequest& request = requests[random() % requests.size()];
      const auto drop = [&](Requests& list) { std::erase(list, &request); };
      if (request.group == nullptr) {
        queue.Append(request);
        in_time.push_back(&request);
        numbers[&request] = step;
      } else if (random() % 2 == 0) {
        queue.Remove(request);
        drop(in_time);
        drop(delayed);
      } else if (!request.is_delayed) {
        queue.Delay(request);
        drop(in_time);
        delayed.insert(std::find_if(delayed.begin(), delayed.end(),
                                    [&](const InferRequest* other) {
                                      return numbers[other] > numbers[&request];
                                    }),
                       &request);
      }
      Requests expected = in_time;
      expected.insert(expected.end(), delayed.begin(), delayed.end());
      ASSERT_EQ(Contents(queue), expected);
    }
  }
}

TEST(RequestQueue, OldestArrivalIsThatOfTheDelayedToo) {
  RequestQueue queue(2, 1);
  InferRequest delayed;
  InferRequest in_time;
  delayed.arrival = FromNanos(1);
  in_time.arrival = FromNanos(2);
  queue.Append(delayed);
  queue.Append(in_time);
  queue.Delay(delayed);
  EXPECT_EQ(queue.groups()[0]->oldest_arrival(), FromNanos(1));
}

TEST(RequestQueue, ShapesAndLevelsAreApartAndCounted) {
  TestRequest narrow({.id = 1, .rows = 2, .width = 1});
  TestRequest wide({.id = 2, .rows = 3, .width = 2});
  TestRequest urgent({.id = 3, .rows = 1, .width = 2});
  wide.request().level = 1;
  RequestQueue queue(4, 2);
  for (TestRequest* test : {&narrow, &wide, &urgent}) {
    queue.Append(test->request());
  }
  ASSERT_EQ(queue.groups().size(), 2u);
  EXPECT_EQ(queue.rows(), 6);
  EXPECT_EQ(queue.level_rows(0), 3);
  EXPECT_EQ(queue.level_rows(1), 3);
  const ShapeGroup& group = *wide.request().group;
  EXPECT_EQ(&group, urgent.request().group);
  EXPECT_EQ(group.requests(), 2);
  EXPECT_EQ(group.rows(), 4);
  EXPECT_EQ(group.most_urgent_level(), 0);
  EXPECT_EQ(&group.any(), &urgent.request());
  queue.Remove(urgent.request());
  EXPECT_EQ(group.most_urgent_level(), 1);
  queue.Remove(narrow.request());
  EXPECT_EQ(queue.groups().size(), 1u) << "no group is empty";
  queue.Remove(wide.request());
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.rows(), 0);
}

TEST(RequestQueue, EqualKeysOfDifferentShapesAreApart) {
  TestRequest narrow({.id = 1, .width = 1});
  TestRequest wide({.id = 2, .width = 2});
  wide.request().shape_key = narrow.request().shape_key;
  RequestQueue queue(4, 1);
  queue.Append(narrow.request());
  queue.Append(wide.request());
  EXPECT_NE(narrow.request().group, wide.request().group);
  queue.Remove(narrow.request());
  queue.Remove(wide.request());
}

TEST(RequestQueue, RandomShapesKeepTheirOrder) {
  constexpr int64_t kShapes = 5;
  std::mt19937_64 random(7);
  std::vector<std::unique_ptr<TestRequest>> tests;
  std::array<Requests, kShapes> expected;
  RequestQueue queue(200, 1);
  for (int64_t id = 0; id < 200; ++id) {
    const int64_t width =
        static_cast<int64_t>(random() % static_cast<uint64_t>(kShapes)) + 1;
    tests.push_back(std::make_unique<TestRequest>(
        TestRequestOptions{.id = id, .width = width}));
    Requests& list = expected[static_cast<size_t>(width - 1)];
    queue.Append(tests.back()->request());
    list.push_back(&tests.back()->request());
    if (random() % 3 == 0) {  // the oldest of some shape leaves
      Requests& other = expected[random() % kShapes];
      if (!other.empty()) {
        queue.Remove(const_cast<InferRequest&>(*other.front()));
        other.erase(other.begin());
      }
    }
    for (const Requests& its : expected) {
      if (!its.empty()) {
        EXPECT_EQ(Contents(its.front()->group->levels()[0]), its);
      }
    }
  }
}

TEST(RequestQueueDeathTest, RemovingWhatIsNotQueuedIsABug) {
  RequestQueue queue(4, 1);
  InferRequest request;
  EXPECT_DEATH(queue.Remove(request), "only a queued request is removed");
}

}  // namespace
}  // namespace ferry

// RequestQueue: arrival order, removal from anywhere, deadlines alongside.
#include "batcher/request_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

namespace ferry {
namespace {

std::vector<const InferRequest*> Contents(const RequestQueue& queue) {
  std::vector<const InferRequest*> contents;
  for (const InferRequest* next = queue.oldest(); next != nullptr;
       next = next->newer) {
    contents.push_back(next);
  }
  return contents;
}

TEST(RequestQueue, RemovesInEveryOrder) {
  std::array<size_t, 4> order = {0, 1, 2, 3};
  do {
    std::array<InferRequest, 4> requests;
    std::vector<const InferRequest*> expected;
    RequestQueue queue(4);
    for (InferRequest& request : requests) {
      queue.Append(request);
      expected.push_back(&request);
      EXPECT_TRUE(request.is_queued);
    }
    for (size_t index : order) {
      EXPECT_EQ(Contents(queue), expected);
      queue.Remove(requests[index]);
      EXPECT_FALSE(requests[index].is_queued);
      expected.erase(
          std::find(expected.begin(), expected.end(), &requests[index]));
    }
    EXPECT_TRUE(queue.empty());
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(RequestQueue, OnlyRequestsWithADeadlineAreInTheHeap) {
  RequestQueue queue(4);
  InferRequest without;
  InferRequest with;
  with.deadline = FromNanos(3);
  queue.Append(without);
  EXPECT_EQ(queue.deadlines().earliest(), nullptr);
  queue.Append(with);
  EXPECT_EQ(queue.deadlines().earliest(), &with);
  queue.Remove(with);
  EXPECT_EQ(queue.deadlines().earliest(), nullptr);
  EXPECT_EQ(queue.oldest(), &without);
}

TEST(RequestQueue, RemovedRequestCanBeAppendedAgain) {
  RequestQueue queue(4);
  InferRequest first;
  InferRequest second;
  queue.Append(first);
  queue.Append(second);
  queue.Remove(first);
  queue.Append(first);
  EXPECT_EQ(Contents(queue),
            (std::vector<const InferRequest*>{&second, &first}));
}

TEST(RequestQueueDeathTest, RemovingWhatIsNotQueuedIsABug) {
  RequestQueue queue(4);
  InferRequest request;
  EXPECT_DEATH(queue.Remove(request), "only a queued request is removed");
}

}  // namespace
}  // namespace ferry

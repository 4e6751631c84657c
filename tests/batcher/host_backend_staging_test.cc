// HostBackend: the next batch is staged while one computes.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/batcher/scripted_model.h"
#include "tests/support/test_request.h"

namespace ferry {
namespace {

using absl::StatusCode;

// A model with two places; what it does is written down, by request ids.
class HostBackendStaging : public ::testing::Test {
 protected:
  HostBackendStaging() {
    auto model = std::make_unique<ScriptedModel>();
    model->places = 2;
    model->on_stage = [this](const Batch& batch) -> Outcome {
      Note("stage ", batch);
      return on_stage_ ? on_stage_(batch) : Outcome{};
    };
    model->on_compute = [this](const Batch& batch) -> Outcome {
      if (on_compute_) {
        on_compute_(batch);
      }
      Note("compute ", batch);
      return {};
    };
    std::vector<std::unique_ptr<HostModel>> models;
    models.push_back(std::move(model));
    backend_ =
        MakeBackend(std::move(models), {.slots_per_lane = 2,
                                        .max_inline_replies = 0,
                                        .max_inline_compute = Duration(0)});
  }

  static int64_t IdIn(const Batch& batch) {
    return IdOf(*batch.entries().front().request);
  }

  void Note(const char* what, const Batch& batch) {
    const std::lock_guard lock(mutex_);
    notes_.push_back(what + std::to_string(IdIn(batch)));
  }

  void Start(int64_t id) {
    requests_.emplace_back(TestRequestOptions{.id = id});
    backend_->Start(BatchOf(requests_.back()), events_);
  }

  // Batches 1 and 2, that when the first is staged: else the lane has the first
  // to stage, and stages the second after it.
  void StartTwo() {
    Start(1);
    while (events_.staged < 1) {
      std::this_thread::yield();
    }
    Start(2);
  }

  // After which all notes are written.
  void End() {
    events_.WaitForFinished(static_cast<int>(requests_.size()));
    backend_.reset();
  }

  std::function<Outcome(const Batch&)> on_stage_;
  std::function<void(const Batch&)> on_compute_;
  std::mutex mutex_;
  std::vector<std::string> notes_;
  std::deque<TestRequest> requests_;
  Events events_;
  std::unique_ptr<HostBackend> backend_;
};

TEST_F(HostBackendStaging, TheNextIsStagedWhileOneComputes) {
  std::latch both_staged(2);
  on_stage_ = [&](const Batch&) -> Outcome {
    both_staged.count_down();
    return {};
  };
  // The first waits for the second to be staged: a lane that stages after it
  // has computed would never end.
  on_compute_ = [&](const Batch&) { both_staged.wait(); };
  EXPECT_TRUE(backend_->starts_only_full_ahead());
  EXPECT_EQ(backend_->slots(), 2);
  StartTwo();
  End();
  EXPECT_EQ(notes_, (std::vector<std::string>{"stage 1", "stage 2", "compute 1",
                                              "compute 2"}));
  EXPECT_EQ(events_.slots_freed, 2);
  EXPECT_EQ(events_.staged, 2);
  EXPECT_EQ(events_.ended, 2);
}

TEST_F(HostBackendStaging, BatchesAreStagedAndComputedInTheirOrder) {
  constexpr int kBatches = 400;
  for (int id = 0; id < kBatches; ++id) {
    while (id - events_.slots_freed >= 2) {
      std::this_thread::yield();
    }
    Start(id);
  }
  End();
  std::vector<std::string> staged;
  std::vector<std::string> computed;
  for (const std::string& note : notes_) {
    (note[0] == 's' ? staged : computed).push_back(note);
  }
  ASSERT_EQ(staged.size(), static_cast<size_t>(kBatches));
  ASSERT_EQ(computed.size(), static_cast<size_t>(kBatches));
  for (size_t i = 0; i < staged.size(); ++i) {
    EXPECT_EQ(staged[i], "stage " + std::to_string(i));
    EXPECT_EQ(computed[i], "compute " + std::to_string(i));
  }
  for (const TestRequest& request : requests_) {
    EXPECT_EQ(request.code(), StatusCode::kOk);
  }
  EXPECT_EQ(events_.slots_freed, kBatches);
}

TEST_F(HostBackendStaging, WhatCannotBeStagedFailsAloneAndIsNotComputed) {
  std::atomic<bool> may_compute{false};
  on_stage_ = [&](const Batch& batch) -> Outcome {
    if (IdIn(batch) == 2) {
      throw std::runtime_error("stage threw");
    }
    return {};
  };
  on_compute_ = [&](const Batch&) { may_compute.wait(false); };
  StartTwo();
  while (events_.staged < 2) {
    std::this_thread::yield();
  }
  may_compute = true;
  may_compute.notify_all();
  events_.WaitForFinished(2);
  Start(3);
  End();
  EXPECT_EQ(requests_[0].code(), StatusCode::kOk);
  EXPECT_EQ(requests_[1].code(), StatusCode::kInternal);
  EXPECT_EQ(requests_[2].code(), StatusCode::kOk);
  EXPECT_EQ(notes_, (std::vector<std::string>{"stage 1", "stage 2", "compute 1",
                                              "stage 3", "compute 3"}));
}

// The thread that delivers is held up by the first batch's replies.
TEST_F(HostBackendStaging, LaneThatRunsOutOfWorkReportsEverySlotThatIsFree) {
  std::latch may_deliver(1);
  events_.on_finished = [&] { may_deliver.wait(); };
  std::latch all_staged(3);
  on_stage_ = [&](const Batch&) -> Outcome {
    all_staged.count_down();
    return {};
  };
  std::latch second_staged(1);
  on_compute_ = [&](const Batch& batch) {
    if (IdIn(batch) == 1) {
      second_staged.wait();
    } else if (IdIn(batch) == 2) {
      all_staged.wait();
    }
  };
  Start(1);
  Start(2);
  second_staged.count_down();
  while (events_.slots_freed < 1) {
    std::this_thread::yield();
  }
  Start(3);
  while (events_.slots_freed < 3) {
    std::this_thread::yield();
  }
  EXPECT_EQ(events_.finished, 0);
  may_deliver.count_down();
  End();
}

TEST_F(HostBackendStaging, LaneIsNotLentWhileTheNextIsStaged) {
  std::latch is_staging(1);
  std::latch may_stage(1);
  on_stage_ = [&](const Batch& batch) -> Outcome {
    if (IdIn(batch) == 2) {
      is_staging.count_down();
      may_stage.wait();
    }
    return {};
  };
  std::latch second_started(1);
  on_compute_ = [&](const Batch& batch) {
    if (IdIn(batch) == 1) {
      second_started.wait();
    }
  };
  StartTwo();
  is_staging.wait();
  second_started.count_down();
  events_.WaitForFinished(1);
  for (int i = 0; i < 1000; ++i) {  // soon the lane sleeps
    EXPECT_EQ(backend_->RunInline([] { ADD_FAILURE() << "it stepped"; }),
              InlineRun::kNotLent);
    std::this_thread::yield();
  }
  may_stage.count_down();
  End();
}

TEST_F(HostBackendStaging, DestructorFinishesWhatIsStaged) {
  std::atomic<bool> may_compute{false};
  on_compute_ = [&](const Batch&) { may_compute.wait(false); };
  Start(1);
  Start(2);
  std::thread ender([&] { backend_.reset(); });
  may_compute = true;
  may_compute.notify_all();
  ender.join();
  EXPECT_EQ(events_.finished, 2);
  EXPECT_EQ(events_.slots_freed, 2);
  for (const TestRequest& request : requests_) {
    EXPECT_EQ(request.code(), StatusCode::kOk);
  }
}

TEST(HostBackendSlots, AreQueuedWhereTheModelHasNoPlaceToStageAhead) {
  Events events;
  TestRequest requests[2];
  auto backend = MakeBackend(OneModel(), {.slots_per_lane = 2});
  EXPECT_FALSE(backend->starts_only_full_ahead());
  for (TestRequest& request : requests) {
    backend->Start(BatchOf(request), events);
  }
  backend.reset();
  EXPECT_EQ(events.finished, 2);
}

}  // namespace
}  // namespace ferry

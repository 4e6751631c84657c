// SteppedBatcher: a Batcher whose clock, backend and thread are the test's.
//
// Thread safety: one thread, that of the test.
#ifndef FERRY_TESTS_SUPPORT_STEPPED_BATCHER_H_
#define FERRY_TESTS_SUPPORT_STEPPED_BATCHER_H_

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "batcher/batcher.h"
#include "tests/support/fake_clock.h"
#include "tests/support/scripted_backend.h"
#include "tests/support/test_request.h"

namespace ferry {

// The clocks and the stepping in them are set by SteppedBatcher.
struct SteppedBatcherOptions {
  BatcherOptions batcher = {};
  ScriptedBackendOptions backend = {.spec = RowSpec()};
};

class SteppedBatcher {
 public:
  explicit SteppedBatcher(SteppedBatcherOptions options = {}) {
    options.backend.clock = &clock_;
    options.batcher.clock = &clock_;
    options.batcher.stepping = Stepping::kByCaller;
    auto backend = std::make_unique<ScriptedBackend>(options.backend);
    backend_ = backend.get();
    auto batcher = Batcher::Create(std::move(backend), options.batcher);
    EXPECT_TRUE(batcher.ok()) << batcher.status();
    batcher_ = *std::move(batcher);
    calls_ = batcher_.get();
  }

  FakeClock& clock() { return clock_; }
  const FakeClock& clock() const { return clock_; }
  Batcher& batcher() { return *calls_; }
  ScriptedBackend& backend() { return *backend_; }
  const ScriptedBackend& backend() const { return *backend_; }

  absl::Status TrySubmit(TestRequest& request) {
    return calls_->Submit(request.request());
  }
  void Submit(TestRequest& request) {
    const absl::Status status = TrySubmit(request);
    EXPECT_TRUE(status.ok()) << status;
  }
  void Cancel(TestRequest& request) { calls_->Cancel(request.request()); }
  Wait Step() { return calls_->Step(); }

  // Lets the backend finish and the batcher answer until nothing is admitted.
  void Settle() {
    do {
      backend_->CompleteAll();
      Step();
    } while (backend_->running_count() > 0);
  }

  // Requests that are answered meanwhile may still submit and cancel.
  void Destroy() { batcher_.reset(); }

 private:
  FakeClock clock_;
  ScriptedBackend* backend_ = nullptr;
  std::unique_ptr<Batcher> batcher_;
  Batcher* calls_ = nullptr;  // batcher_, also while that is being destroyed
};

}  // namespace ferry

#endif  // FERRY_TESTS_SUPPORT_STEPPED_BATCHER_H_

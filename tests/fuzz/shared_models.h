// SharedModels are schedulers whose models share a device, with what Simulation
// leaves out: requests larger than a batch, turns on the device, and models
// that are loaded and unloaded.
//
// They check that each request is answered once, with its own rows or with what
// happened to it, G1; that batches are within their bounds and in order, G2;
// that no more compute than the device lets in; and that what is queued never
// waits for nothing.
//
// Thread safety: one thread. Errors: test failures.
#ifndef FERRY_TESTS_FUZZ_SHARED_MODELS_H_
#define FERRY_TESTS_FUZZ_SHARED_MODELS_H_

#include <array>
#include <cstdint>
#include <deque>
#include <memory>

#include "batcher/device_share.h"
#include "tests/batcher/simulation_choices.h"
#include "tests/support/stepped_scheduler.h"

namespace ferry {

class SharedModels {
 public:
  explicit SharedModels(Choices& choices);

  // Plays that many actions, unless the choices are over before; then drains.
  void Run(int actions);

 private:
  static constexpr size_t kModels = 2;
  static constexpr int64_t kLevels = 2;

  struct Call {
    explicit Call(const TestRequestOptions& options) : test(options) {}

    TestRequest test;
    bool is_cancelled = false;
    bool is_accepted = false;
  };

  struct Model {
    std::deque<Call> calls;   // [id]
    bool has_failed = false;  // a batch
    bool is_unloaded = false;
    std::array<int64_t, kLevels> last_started{};  // its id, of each level
    std::unique_ptr<SteppedScheduler> stepped;
  };

  void Load(Model& model);
  void Unload(Model& model);

  void Act();
  void Submit(Model& model);
  void MoveBatch(Model& model);
  void ChangeOptions(Model& model);
  void Advance(Duration by);
  // Lets all threads do what they would do now.
  void Step();
  void Drain();

  void OnStart(Model& model, const Batch& batch);
  static void OnRespond(const Model& model, const Call& call);
  void CheckAtRest() const;
  // Whether each call is answered.
  static bool IsAnswered(const Model& model);

  Model& AnyModel() {
    return models_[static_cast<size_t>(
        choices_.Uniform(0, static_cast<int64_t>(kModels) - 1))];
  }
  int32_t Number(int64_t low, int64_t high) {
    return static_cast<int32_t>(choices_.Uniform(low, high));
  }

  Choices& choices_;
  const int32_t permits_;
  DeviceShare device_;
  Duration passed_{0};  // since the clocks began
  std::array<Model, kModels> models_;
};

}  // namespace ferry

#endif  // FERRY_TESTS_FUZZ_SHARED_MODELS_H_

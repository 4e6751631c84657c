// scheduler_fuzzer fuzzes the scheduler as a state machine: the input is what a
// simulation draws, up to four of them after each other. 0 begins a Simulation
// (tests/batcher/simulation.h), which checks G1-G5 after each action; 1 begins
// SharedModels (shared_models.h).
//
// Each number is a byte, or two where its range has more than 256 values, and
// is counted from the least. A byte below f0 picks actions as often as the
// simulation does; f0 submits, f1 submits again, f2 cancels, f3 moves a batch,
// f4 moves the clock, f5 changes options, f6 drains, or unloads and loads a
// shared model, and f7 loses the device.
//
// What must hold is what the simulations check, beside that nothing is read or
// written where it may not be.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>

#include "absl/types/span.h"
#include "tests/batcher/simulation.h"
#include "tests/fuzz/shared_models.h"

namespace ferry {
namespace {

constexpr int kMaxSimulations = 4;
constexpr int64_t kMaxActions = 256;

// Draws from an input; where that is over, the largest number, which is never
// the rare one of OneIn().
class InputChoices final : public Choices {
 public:
  explicit InputChoices(absl::Span<const uint8_t> input) : input_(input) {}

  int64_t Uniform(int64_t low, int64_t high) override {
    const int64_t count = high - low + 1;
    if (count == 1 || input_.empty()) {
      return high;
    }
    int64_t drawn = Byte();
    if (count > kByteValues) {
      drawn = drawn * kByteValues + Byte();
    }
    return low + drawn % count;
  }

  size_t Pick(std::initializer_list<int64_t> weights) override {
    constexpr size_t kChosen = 0xf0;
    const size_t byte = Byte();
    if (byte >= kChosen) {
      return (byte - kChosen) % weights.size();
    }
    auto left = static_cast<int64_t>(byte) *
                std::accumulate(weights.begin(), weights.end(), int64_t{0}) /
                static_cast<int64_t>(kChosen);
    size_t index = 0;
    for (const int64_t weight : weights) {
      left -= weight;
      if (left < 0) {
        break;
      }
      ++index;
    }
    return index;
  }

  bool is_over() const override { return input_.empty(); }

 private:
  static constexpr int64_t kByteValues = 256;

  uint8_t Byte() {
    if (input_.empty()) {
      return 0;
    }
    const uint8_t byte = input_.front();
    input_.remove_prefix(1);
    return byte;
  }

  absl::Span<const uint8_t> input_;
};

// Ends the process at the first check that fails, as Check() does.
class EndAtFailure final : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (result.failed()) {
      std::fprintf(stderr, "%s:%d: check failed: %s\n", result.file_name(),
                   result.line_number(), result.message());
      std::abort();
    }
  }
};

void Play(absl::Span<const uint8_t> input) {
  const auto choices = std::make_shared<InputChoices>(input);
  for (int i = 0; i < kMaxSimulations && !choices->is_over(); ++i) {
    const auto actions = [&choices] {
      return static_cast<int>(choices->Uniform(1, kMaxActions));
    };
    if (choices->Uniform(0, 1) == 0) {
      Simulation simulation(choices);
      simulation.Run(actions());
    } else {
      SharedModels models(*choices);
      models.Run(actions());
    }
  }
}

}  // namespace
}  // namespace ferry

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  testing::TestEventListeners& listeners =
      testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new ferry::EndAtFailure);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ferry::Play({data, size});
  return 0;
}

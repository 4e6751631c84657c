// Tests that integer divisions that an x86 processor faults at end no process,
// in every form of the instruction, and whose guard tells of them.
#include "models/torch/division_guard.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/frontend/sugared_value.h>

#include <array>
#include <limits>
#include <memory>
#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "models/torch/network.h"
#include "tests/models/temp_folder.h"
#include "tests/models/torch/torch_instance.h"

namespace ferry {
namespace {

template <typename T>
T Divide(T dividend, T divisor) {
  volatile T a = dividend;  // the compiler knows nothing of these
  volatile T b = divisor;
  volatile T quotient = static_cast<T>(a / b);
  return quotient;
}

template <typename T>
class DivisionTest : public testing::Test {};
using Types = testing::Types<int8_t, uint8_t, int16_t, uint16_t, int32_t,
                             uint32_t, int64_t, uint64_t>;
TYPED_TEST_SUITE(DivisionTest, Types);

TYPED_TEST(DivisionTest, ByZeroGivesZeroAndIsTold) {
  const DivisionGuard guard;
  EXPECT_EQ(Divide<TypeParam>(6, 3), 2);
  EXPECT_FALSE(guard.has_faulted());
#if defined(__x86_64__)
  EXPECT_EQ(Divide<TypeParam>(6, 0), 0);
  EXPECT_TRUE(guard.has_faulted());
  EXPECT_EQ(Divide<TypeParam>(6, 3), 2) << "what follows runs on";
#endif
}

#if defined(__x86_64__)

TEST(DivisionGuardTest, OperandsInMemoryAreSteppedOver) {
  const DivisionGuard guard;
  std::array<int32_t, 300> zeros{};
  const auto divide = [&zeros](size_t index) {
    const int32_t* const base = zeros.data();
    int32_t quotient = 8;
    int32_t remainder = 0;
    asm volatile("idivl (%2)" : "+a"(quotient), "+d"(remainder) : "r"(base));
    int32_t next = 8;
    asm volatile("idivl 64(%2)" : "+a"(next), "+d"(remainder) : "r"(base));
    int32_t far = 8;
    asm volatile("idivl 512(%2,%3,4)"
                 : "+a"(far), "+d"(remainder)
                 : "r"(base), "r"(index));
    int32_t without_base = 8;
    asm volatile("idivl (,%2,1)"
                 : "+a"(without_base), "+d"(remainder)
                 : "r"(base));
    int16_t byte = 8;
    asm volatile("idivb (%1)" : "+a"(byte) : "r"(base));
    int16_t word = 8;
    asm volatile("idivw (%2)" : "+a"(word), "+d"(remainder) : "r"(base));
    return quotient + next + far + without_base + remainder + byte + word;
  };
  EXPECT_EQ(divide(20), 0);
  EXPECT_TRUE(guard.has_faulted());
}

TEST(DivisionGuardTest, SmallestNumberByMinusOneIsTold) {
  const DivisionGuard guard;
  EXPECT_EQ(Divide<int64_t>(std::numeric_limits<int64_t>::min(), -1), 0);
  EXPECT_TRUE(guard.has_faulted());
}

TEST(DivisionGuardTest, FaultIsTheGuardsOfItsOwnThread) {
  const DivisionGuard guard;
  std::thread([] {
    const DivisionGuard other;
    Divide<int32_t>(1, 0);
    EXPECT_TRUE(other.has_faulted());
  }).join();
  EXPECT_FALSE(guard.has_faulted());
  std::thread([] { Divide<int32_t>(1, 0); }).join();
  EXPECT_TRUE(guard.has_faulted()) << "a thread that works for some guard";
}

TEST(DivisionGuardTest, FaultElsewhereIsNoneOfWorkInOneThread) {
  const DivisionGuard guard(FaultsOf::kThisThread);
  std::thread([] { Divide<int32_t>(1, 0); }).join();
  EXPECT_FALSE(guard.has_faulted());
  Divide<int32_t>(1, 0);
  EXPECT_TRUE(guard.has_faulted());
}

TEST(DivisionGuardDeathTest, WithoutAGuardTheProcessEndsAsEver) {
  { const DivisionGuard guard; }
  EXPECT_EXIT(Divide<int32_t>(1, 0), testing::KilledBySignal(SIGFPE), "");
}

// LibTorch divides without a look in this one.
TEST(DivisionGuardTest, OperatorOfLibTorchFailsItsWorkOnly) {
  const auto divide = [](int64_t divisor) {
    return Guarded([divisor] {
      const at::Tensor smallest =
          at::full({100'000}, std::numeric_limits<int32_t>::min(), at::kInt);
      at::div(smallest, at::full({100'000}, divisor, at::kInt), "trunc");
      return absl::OkStatus();
    });
  };
  EXPECT_EQ(divide(-1).code(), absl::StatusCode::kInternal);
  EXPECT_EQ(divide(2), absl::OkStatus());
}

// Knows torch.jit.fork() by its name in files.
struct ForkResolver : torch::jit::Resolver {
  std::shared_ptr<torch::jit::SugaredValue> resolveValue(
      const std::string& name, torch::jit::GraphFunction&,
      const torch::jit::SourceRange&) override {
    if (name == "fork") {
      return torch::jit::SpecialFormValue::create(c10::prim::fork);
    }
    return name == "torch" ? std::make_shared<torch::jit::BuiltinModule>("aten")
                           : nullptr;
  }
  c10::TypePtr resolveType(const std::string&,
                           const torch::jit::SourceRange&) override {
    return nullptr;
  }
};

TEST(DivisionGuardTest, TaskOfAScriptOnAnotherThreadFailsItsBatch) {
  torch::jit::Module module("m");
  module.register_buffer("one", at::full({1}, -1, at::kInt));
  module.define(
      "def part(self, x):\n"
      "  return torch.div(x, self.one, rounding_mode='trunc')\n"
      "def forward(self, x):\n"
      "  y = fork(self.part, x)\n  return torch.wait(y)\n",
      std::make_shared<ForkResolver>());
  const TempFolder folder;
  module.save(folder.path("model.pt"));
  ModelOptions options;
  options.name = "m";
  options.threads = 1;
  options.spec = {.inputs = {{"x", DataType::kInt32, {1000}}},
                  .outputs = {{"y", DataType::kInt32, {1000}}},
                  .max_batch_size = 1};
  auto instance = TorchInstance::Create(options, folder.path("model.pt"));
  ASSERT_TRUE(instance.ok()) << instance.status();
  EXPECT_TRUE(instance->Run({at::ones({1, 1000}, at::kInt)}).outcome.ok());
  const at::Tensor smallest =
      at::full({1, 1000}, std::numeric_limits<int32_t>::min(), at::kInt);
  EXPECT_FALSE(instance->Run({smallest}).outcome.ok());
}

#endif

}  // namespace
}  // namespace ferry

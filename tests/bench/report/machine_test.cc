// Tests what the system tells of this machine, and what it does not.
#include "bench/report/machine.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace ferry::bench {
namespace {

class GovernorTest : public ::testing::Test {
 protected:
  GovernorTest() {
    std::string pattern = ::testing::TempDir() + "cpuXXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~GovernorTest() override { std::filesystem::remove_all(folder_); }

  void AddCpu(int cpu, const std::string& governor) {
    const std::string own = folder_ + "/cpu" + std::to_string(cpu) + "/cpufreq";
    std::filesystem::create_directories(own);
    if (!governor.empty()) {
      std::ofstream(own + "/scaling_governor") << governor << "\n";
    }
  }

  std::string folder_;
};

TEST_F(GovernorTest, IsThatOfAllProcessors) {
  AddCpu(0, "performance");
  AddCpu(1, "performance");
  EXPECT_EQ(ReadGovernor(folder_), "performance");
  AddCpu(2, "powersave");
  EXPECT_EQ(ReadGovernor(folder_), "performance, powersave");
}

TEST_F(GovernorTest, IsEmptyWhereTheSystemDoesNotTell) {
  EXPECT_EQ(ReadGovernor(folder_), "");
  AddCpu(0, "");
  EXPECT_EQ(ReadGovernor(folder_), "");
}

TEST(DescribeMachineTest, HasCoresAndMemory) {
  const Machine machine = DescribeMachine();
  EXPECT_GE(machine.cores, 1);
  EXPECT_GT(machine.memory_bytes, uint64_t{1} << 20);
  EXPECT_FALSE(machine.kernel.empty());
  EXPECT_FALSE(CompilerName().empty());
}

}  // namespace
}  // namespace ferry::bench

// Tests NUMA nodes on a synthetic sysfs, and threads bound to processors.
#include "models/nvml/numa_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace ferry::nvml {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class NumaNodeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const ::testing::TestInfo& test =
        *::testing::UnitTest::GetInstance()->current_test_info();
    root_ = ::testing::TempDir() + "sysfs_" + test.name() + "." +
            std::to_string(getpid());
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  std::string root_;
};

TEST_F(NumaNodeTest, NodeOfADeviceIsRead) {
  Write("/bus/pci/devices/0000:1b:00.0/numa_node", "1\n");
  EXPECT_EQ(NumaNode("0000:1b:00.0", root_), 1);
}

TEST_F(NumaNodeTest, UnknownNodeIsAbsent) {
  Write("/bus/pci/devices/0000:1b:00.0/numa_node", "-1\n");
  Write("/bus/pci/devices/0000:1c:00.0/numa_node", "x\n");
  EXPECT_EQ(NumaNode("0000:1b:00.0", root_), std::nullopt);
  EXPECT_EQ(NumaNode("0000:1c:00.0", root_), std::nullopt);
  EXPECT_EQ(NumaNode("0000:1d:00.0", root_), std::nullopt);
  EXPECT_EQ(NumaNode("", root_), std::nullopt);
}

TEST_F(NumaNodeTest, ProcessorsOfANodeAreRead) {
  Write("/devices/system/node/node1/cpulist", "8-10,24\n");
  EXPECT_THAT(ProcessorsOfNode(1, root_), ElementsAre(8, 9, 10, 24));
  EXPECT_THAT(ProcessorsOfNode(2, root_), IsEmpty());
}

TEST(ParseProcessorsTest, ListsAndRanges) {
  EXPECT_THAT(*ParseProcessors("0"), ElementsAre(0));
  EXPECT_THAT(*ParseProcessors("0-2,5\n"), ElementsAre(0, 1, 2, 5));
  EXPECT_THAT(*ParseProcessors("\n"), IsEmpty());
  for (const char* text :
       {"a", "1-", "-1", "3-1", "1,,2", "1-2-3", "1024", "0-99999999"}) {
    EXPECT_EQ(ParseProcessors(text), std::nullopt) << text;
  }
}

TEST(BindThreadTest, OnlyAllowedProcessorsAreTaken) {
  std::thread([] {
    cpu_set_t before;
    CPU_ZERO(&before);
    ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
    int first = 0;
    while (!CPU_ISSET(static_cast<size_t>(first), &before)) {
      ++first;
    }
    ASSERT_TRUE(BindThread({first}).ok());
    EXPECT_EQ(sched_getcpu(), first);
    // None is allowed now but that one.
    const int other = first + 1;
    EXPECT_EQ(BindThread({other}).code(),
              absl::StatusCode::kFailedPrecondition);
    EXPECT_TRUE(BindThread({first, other}).ok());
    EXPECT_EQ(BindThread({}).code(), absl::StatusCode::kFailedPrecondition);
  }).join();
}

}  // namespace
}  // namespace ferry::nvml

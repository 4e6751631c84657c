// Tests MemoryLimit() on files as control groups of both versions have them.
#include "server/memory_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/models/temp_folder.h"

namespace ferry {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

TEST(MemoryLimitTest, WithoutGroupsItIsTheMachines) {
  const TempFolder root;
  EXPECT_GT(MemoryLimit(root.path()), 64 * kMiB);
  EXPECT_GT(MemoryLimit(), 0);
}

TEST(MemoryLimitTest, LeastOfTheGroupAndThoseAboveIt) {
  const TempFolder root;
  root.Write("proc/self/cgroup", "0::/pods/ferry\n");
  root.Write("sys/fs/cgroup/pods/ferry/memory.max", "max\n");
  EXPECT_GT(MemoryLimit(root.path()), 64 * kMiB);
  root.Write("sys/fs/cgroup/pods/memory.max", "50331648\n");
  EXPECT_EQ(MemoryLimit(root.path()), 48 * kMiB);
  root.Write("sys/fs/cgroup/pods/ferry/memory.max", "33554432\n");
  EXPECT_EQ(MemoryLimit(root.path()), 32 * kMiB);
}

// Within a container the path may be the host's.
TEST(MemoryLimitTest, ContainersOwnFileIsFound) {
  const TempFolder root;
  root.Write("proc/self/cgroup", "0::/../../docker/0123\n");
  root.Write("sys/fs/cgroup/memory.max", "50331648\n");
  EXPECT_EQ(MemoryLimit(root.path()), 48 * kMiB);
}

TEST(MemoryLimitTest, VersionOneIsRead) {
  const TempFolder root;
  root.Write("proc/self/cgroup",
             "12:cpu,cpuacct:/x\n4:hugetlb,memory:/x\n0::/\n");
  root.Write("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "50331648\n");
  root.Write("sys/fs/cgroup/memory/memory.limit_in_bytes",
             "9223372036854771712\n");
  EXPECT_EQ(MemoryLimit(root.path()), 48 * kMiB);
}

TEST(MemoryLimitTest, NonsenseSaysNothing) {
  const TempFolder root;
  root.Write("proc/self/cgroup", "\n:\n0::/\nmemory\n");
  root.Write("sys/fs/cgroup/memory.max", "-1\n");
  EXPECT_GT(MemoryLimit(root.path()), 64 * kMiB);
}

TEST(MemoryLimitTest, DefaultIsAQuarterWithinBounds) {
  EXPECT_EQ(DefaultGrpcMemory(2048 * kMiB, 64 * kMiB, 256 * kMiB), 512 * kMiB);
  EXPECT_EQ(DefaultGrpcMemory(256 * kMiB, 64 * kMiB, 256 * kMiB), 384 * kMiB);
  EXPECT_EQ(DefaultGrpcMemory(65536 * kMiB, 8 * kMiB, kMiB), 1024 * kMiB);
  EXPECT_EQ(DefaultGrpcMemory(65536 * kMiB, 128 * kMiB, kMiB), 2048 * kMiB);
}

}  // namespace
}  // namespace ferry

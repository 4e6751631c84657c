// Tests ProcessorCount() on files as control groups of both versions have them.
#include "base/processor_count.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <limits>
#include <string>

#include "tests/models/temp_folder.h"

namespace ferry {
namespace {

constexpr int kNoQuota = std::numeric_limits<int>::max();

// Returns the quota of a group of version 2 whose cpu.max is that.
int QuotaOf(const std::string& cpu_max) {
  const TempFolder root;
  root.Write("proc/self/cgroup", "0::/pods/ferry\n");
  root.Write("sys/fs/cgroup/pods/ferry/cpu.max", cpu_max);
  return ProcessorQuota(root.path());
}

TEST(ProcessorCountTest, QuotaIsRoundedUp) {
  EXPECT_EQ(QuotaOf("150000 100000\n"), 2);
  EXPECT_EQ(QuotaOf("50000 100000\n"), 1);
  EXPECT_EQ(QuotaOf("200000 100000\n"), 2);
  EXPECT_EQ(QuotaOf("200001 100000\n"), 3);
  EXPECT_EQ(QuotaOf("1 100000\n"), 1);
  EXPECT_EQ(QuotaOf("9223372036854775807 1\n"), kNoQuota);
}

TEST(ProcessorCountTest, NoQuotaAndNonsenseSayNothing) {
  for (const char* const text :
       {"max 100000\n", "", "\n", "150000", "x 100000\n", "150000 y\n",
        "150000x 100000\n", "0 100000\n", "-1 100000\n", "150000 0\n",
        "99999999999999999999 100000\n"}) {
    EXPECT_EQ(QuotaOf(text), kNoQuota) << text;
  }
}

TEST(ProcessorCountTest, WithoutFilesThereIsNoQuota) {
  const TempFolder root;
  EXPECT_EQ(ProcessorQuota(root.path()), kNoQuota);
  root.Write("proc/self/cgroup", "\n:\n0::/\ncpu\n");
  EXPECT_EQ(ProcessorQuota(root.path()), kNoQuota);
}

TEST(ProcessorCountTest, StricterOneOfThoseAboveHolds) {
  const TempFolder root;
  root.Write("proc/self/cgroup", "0::/pods/ferry\n");
  root.Write("sys/fs/cgroup/pods/ferry/cpu.max", "800000 100000\n");
  root.Write("sys/fs/cgroup/pods/cpu.max", "300000 100000\n");
  EXPECT_EQ(ProcessorQuota(root.path()), 3);
  root.Write("sys/fs/cgroup/pods/ferry/cpu.max", "100000 100000\n");
  EXPECT_EQ(ProcessorQuota(root.path()), 1);
}

// Within a container the path may be the host's.
TEST(ProcessorCountTest, ContainersOwnFileIsFound) {
  const TempFolder root;
  root.Write("proc/self/cgroup", "0::/../../docker/0123\n");
  root.Write("sys/fs/cgroup/cpu.max", "250000 100000\n");
  EXPECT_EQ(ProcessorQuota(root.path()), 3);
}

TEST(ProcessorCountTest, VersionOneIsRead) {
  const TempFolder root;
  root.Write("proc/self/cgroup",
             "12:cpu,cpuacct:/x\n4:cpuset,memory:/y\n0::/\n");
  root.Write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  root.Write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(ProcessorQuota(root.path()), kNoQuota);
  root.Write("sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "150000\n");
  EXPECT_EQ(ProcessorQuota(root.path()), kNoQuota) << "without its period";
  root.Write("sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "50000\n");
  EXPECT_EQ(ProcessorQuota(root.path()), 3);
}

TEST(ProcessorCountTest, LeastOfQuotaAndAffinity) {
  const TempFolder root;
  root.Write("proc/self/cgroup", "0::/\n");
  root.Write("sys/fs/cgroup/cpu.max", "max 100000\n");
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  EXPECT_EQ(ProcessorCount(root.path()), CPU_COUNT(&before));
  cpu_set_t first;
  CPU_ZERO(&first);
  int processor = 0;
  while (!CPU_ISSET(processor, &before)) {
    ++processor;
  }
  CPU_SET(processor, &first);
  ASSERT_EQ(sched_setaffinity(0, sizeof(first), &first), 0);
  EXPECT_EQ(ProcessorCount(root.path()), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
  root.Write("sys/fs/cgroup/cpu.max", "10000 100000\n");
  EXPECT_EQ(ProcessorCount(root.path()), 1);
  EXPECT_GE(ProcessorCount(), 1);
}

}  // namespace
}  // namespace ferry

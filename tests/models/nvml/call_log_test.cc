// Tests that CallLog counts codes, and that codes have NVML's names.
#include "models/nvml/call_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ferry::nvml {
namespace {

using ::testing::ElementsAre;

TEST(CallLogTest, CountsByCallSubjectAndCode) {
  CallLog log;
  log.Add("b", Subject::kGpu, Code::kSuccess);
  log.Add("a", Subject::kMig, Code::kNotSupported);
  log.Add("b", Subject::kGpu, Code::kSuccess);
  log.Add("b", Subject::kMig, Code::kSuccess);
  EXPECT_THAT(log.Counts(),
              ElementsAre(CallCount{"a", Subject::kMig, Code::kNotSupported, 1},
                          CallCount{"b", Subject::kGpu, Code::kSuccess, 2},
                          CallCount{"b", Subject::kMig, Code::kSuccess, 1}));
}

TEST(CallLogTest, CodesHaveNvmlsNames) {
  EXPECT_EQ(CodeName(Code::kSuccess), "SUCCESS");
  EXPECT_EQ(CodeName(Code::kGpuIsLost), "GPU_IS_LOST");
  EXPECT_EQ(CodeName(Code::kUnknown), "UNKNOWN");
  EXPECT_EQ(CodeName(static_cast<Code>(31)), "CODE_31");
}

}  // namespace
}  // namespace ferry::nvml

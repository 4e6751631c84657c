// Tests which libraries OpenCuda opens, on synthetic ones.
#include "models/cuda_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "models/build_identity.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

std::string ErrorOf(const std::string& file) {
  const absl::StatusOr<OpenedCuda> opened = OpenCuda(0.5, file);
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kFailedPrecondition);
  return std::string(opened.status().message());
}

TEST(CudaLibraryTest, LibraryOfThisBuildIsOpened) {
  const absl::StatusOr<OpenedCuda> opened = OpenCuda(0.5, FAKE_CUDA_SAME);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_THAT(opened->uuids, ElementsAre("GPU-a"));
  EXPECT_EQ(opened->multiprocessors, 132);
  EXPECT_EQ(opened->description, "half");
}

TEST(CudaLibraryTest, LibraryOfAnotherBuildIsRefusedWithBoth) {
  const std::string error = ErrorOf(FAKE_CUDA_OTHER);
  EXPECT_THAT(error, HasSubstr(std::string("expected ") + BuildIdentity()));
  EXPECT_THAT(error, HasSubstr("got ferry-0.0.1-torch-2.0.0-0123456789abcdef"));
}

TEST(CudaLibraryTest, LibraryThatTellsNoBuildIsRefused) {
  const std::string error = ErrorOf(FAKE_CUDA_SILENT);
  EXPECT_THAT(error, HasSubstr(std::string("expected ") + BuildIdentity()));
  EXPECT_THAT(error, HasSubstr("got nothing;"));
}

TEST(CudaLibraryTest, MissingLibraryIsSaidWithTheWayOut) {
  const std::string error = ErrorOf("libferry_no_such_library.so");
  EXPECT_THAT(error, HasSubstr("cannot open libferry_no_such_library.so: "));
  EXPECT_THAT(error, HasSubstr("--device=cpu needs neither"));
}

// scripts/bundle.sh looks for it.
TEST(CudaLibraryTest, IdentityIsOfItsForm) {
  EXPECT_THAT(BuildIdentity(),
              MatchesRegex("ferry-[0-9.]+-torch-[0-9.]+-[0-9a-f]{16}"));
}

}  // namespace
}  // namespace ferry

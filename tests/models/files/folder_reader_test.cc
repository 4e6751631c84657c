// Tests that files are read below the folder that was opened, and no link.
#include "models/files/folder_reader.h"

#include <sys/stat.h>

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/models/temp_folder.h"

namespace ferry {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Depth = FolderReader::Depth;
using Links = FolderReader::Links;

class FolderReaderTest : public testing::Test {
 protected:
  FolderReaderTest() {
    folder_.Write("m/file", "abc");
    folder_.Write("m/1/deep/file", "def");
    folder_.Write("other/file", "secret");
  }

  FolderReader Open(Links links) const {
    return *FolderReader::Open(folder_.path("m"), links);
  }

  static std::string Read(const FolderReader& reader, const std::string& path) {
    return reader.ReadFile(path, 100).value_or("");
  }

  static std::string Error(const FolderReader& reader,
                           const std::string& path) {
    return std::string(reader.ReadFile(path, 100).status().message());
  }

  void Link(const std::string& target, const std::string& name) const {
    fs::create_symlink(folder_.path(target), folder_.path(name));
  }

  const TempFolder folder_;
};

TEST_F(FolderReaderTest, ReadsAndListsFilesBelow) {
  for (const Links links : {Links::kFollowed, Links::kRefused}) {
    const FolderReader reader = Open(links);
    EXPECT_EQ(Read(reader, "file"), "abc");
    EXPECT_EQ(Read(reader, "1/deep/file"), "def");
    EXPECT_TRUE(absl::IsNotFound(reader.OpenFile("none").status()));
    EXPECT_TRUE(absl::IsNotFound(reader.OpenFile("file/none").status()));
    EXPECT_THAT(Error(reader, "1"), HasSubstr("m/1': expected a file, got a "));
    EXPECT_THAT(*reader.ListFiles("", Depth::kFolderAlone),
                ElementsAre("file"));
    EXPECT_THAT(*reader.ListFiles("", Depth::kAllBelow),
                ElementsAre("1/deep/file", "file"));
    EXPECT_THAT(*reader.ListFiles("1", Depth::kAllBelow),
                ElementsAre("1/deep/file"));
    EXPECT_THAT(*reader.ListFiles("none", Depth::kAllBelow), ElementsAre());
  }
}

TEST_F(FolderReaderTest, LinkIsFollowedOrRefusedByNameWhereverItLies) {
  Link("other/file", "m/link");
  Link("other", "m/folder");
  Link("m", "n");
  const FolderReader follows = Open(Links::kFollowed);
  EXPECT_EQ(Read(follows, "link"), "secret");
  EXPECT_EQ(Read(follows, "folder/file"), "secret");
  EXPECT_THAT(*follows.ListFiles("", Depth::kAllBelow),
              ElementsAre("1/deep/file", "file", "link"));
  EXPECT_THAT(*follows.ListFiles("folder", Depth::kAllBelow),
              ElementsAre("folder/file"));
  EXPECT_TRUE(FolderReader::Open(folder_.path("n"), Links::kFollowed).ok());

  const FolderReader refuses = Open(Links::kRefused);
  EXPECT_THAT(Error(refuses, "link"),
              HasSubstr("m/link': expected a file or folder, got a link"));
  EXPECT_THAT(Error(refuses, "folder/file"),
              HasSubstr("m/folder': expected a file or folder, got a link"));
  EXPECT_THAT(*refuses.ListFiles("", Depth::kAllBelow),
              ElementsAre("1/deep/file", "file", "folder", "link"));
  EXPECT_TRUE(absl::IsInvalidArgument(
      refuses.ListFiles("folder", Depth::kAllBelow).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      FolderReader::Open(folder_.path("n"), Links::kRefused).status()));
}

TEST_F(FolderReaderTest, ReadsTheFolderThatWasOpenedWhateverTakesItsPath) {
  const FolderReader reader = Open(Links::kRefused);
  fs::rename(folder_.path("m"), folder_.path("moved"));
  fs::rename(folder_.path("other"), folder_.path("m"));
  EXPECT_EQ(Read(reader, "file"), "abc");
}

TEST_F(FolderReaderTest, PipesAreNotWaitedFor) {
  ASSERT_EQ(mkfifo(folder_.path("m/pipe").c_str(), 0600), 0);
  EXPECT_THAT(Error(Open(Links::kRefused), "pipe"),
              HasSubstr("expected a file, got a pipe, socket or device"));
}

}  // namespace
}  // namespace ferry

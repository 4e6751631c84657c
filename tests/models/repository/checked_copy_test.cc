// Tests that what was checked is what is loaded, whatever is replaced then.
#include "models/repository/checked_copy.h"

#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/owned_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/files/read_file.h"
#include "models/files/sha256.h"
#include "models/repository/model_repository.h"
#include "tests/models/signing_key.h"
#include "tests/models/temp_folder.h"

namespace ferry {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kConfig[] = R"(
backend: "ferry_echo"
input { name: "x" data_type: TYPE_INT64 dims: 2 }
output { name: "y" data_type: TYPE_INT64 dims: 2 label_filename: "labels.txt" }
)";

class CheckedCopyTest : public testing::Test {
 protected:
  CheckedCopyTest() {
    setenv("TMPDIR", temporary_.path().c_str(), 1);
    folder_.Write("key.pem", key_.PublicPem());
    folder_.Write("models/m/config.pbtxt", kConfig);
    folder_.Write("models/m/labels.txt", "cat\ndog\n");
    folder_.Write("models/m/1/part", "abc");
    folder_.Write("models/m/1/more/part", "def");
    Sign();
  }
  ~CheckedCopyTest() override { unsetenv("TMPDIR"); }

  // Writes and signs a manifest of all that is there.
  void Sign() const {
    std::string text;
    const fs::path model = folder_.path("models/m");
    for (const auto& entry : fs::recursive_directory_iterator(model)) {
      if (entry.is_regular_file() &&
          entry.path().filename().string().rfind(kManifestFile, 0) != 0) {
        absl::StrAppend(&text, *Sha256OfFile(entry.path().string()), "  ",
                        entry.path().lexically_relative(model).string(), "\n");
      }
    }
    folder_.Write("models/m/MANIFEST.sha256", text);
    folder_.Write("models/m/MANIFEST.sha256.sig", key_.Sign(text));
  }

  ManifestRules Rules() const {
    return {.use = ManifestUse::kRequired,
            .key = *Ed25519Key::Read(folder_.path("key.pem"))};
  }

  ModelRepositoryOptions Options() const {
    ModelRepositoryOptions options;
    options.path = folder_.path("models");
    options.manifests = Rules();
    return options;
  }

  absl::StatusOr<CheckedCopy> Make() const {
    return CheckedCopy::Make({1, folder_.path("models/m/1")}, Rules());
  }

  std::string Error() const { return std::string(Make().status().message()); }

  bool HasNoFolder() const { return fs::is_empty(temporary_.path()); }

  const TempFolder temporary_;
  const TempFolder folder_;
  const SigningKey key_;
};

TEST_F(CheckedCopyTest, HoldsTheCheckedBytesAfterASwap) {
  {
    const auto copy = Make();
    ASSERT_TRUE(copy.ok()) << copy.status();
    const std::string version = copy->folder().path;
    folder_.Write("models/m/1/part", "swapped in place");
    folder_.Write("other", "swapped by a rename");
    fs::rename(folder_.path("other"), folder_.path("models/m/1/more/part"));
    fs::remove(folder_.path("models/m/labels.txt"));
    EXPECT_EQ(ReadFile(version + "/part", 100).value_or(""), "abc");
    EXPECT_EQ(ReadFile(version + "/more/part", 100).value_or(""), "def");
    EXPECT_EQ(ReadFile(version + "/../labels.txt", 100).value_or(""),
              "cat\ndog\n");
    EXPECT_FALSE(HasNoFolder());
  }
  EXPECT_TRUE(HasNoFolder());
}

TEST_F(CheckedCopyTest, HoldsOnlyWhatTheManifestLists) {
  const auto copy = Make();
  ASSERT_TRUE(copy.ok()) << copy.status();
  std::vector<std::string> files;
  const fs::path root = fs::path(copy->folder().path).parent_path();
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (!entry.is_directory()) {
      files.push_back(entry.path().lexically_relative(root).string());
    }
  }
  std::sort(files.begin(), files.end());
  EXPECT_THAT(files, ElementsAre("1/more/part", "1/part", "config.pbtxt",
                                 "labels.txt"));
}

TEST_F(CheckedCopyTest, BadFoldersAreRefusedAndLeaveNothing) {
  folder_.Write("models/m/1/surplus", "");
  EXPECT_THAT(Error(), HasSubstr("m/1/surplus': expected a line in '"));
  fs::remove(folder_.path("models/m/1/surplus"));

  folder_.Write("models/m/1/part", "abd");
  EXPECT_THAT(Error(), HasSubstr("m/1/part': expected SHA-256 ba78"));
  folder_.Write("models/m/1/part", "abc");

  folder_.Write("outside", "abc");
  fs::remove(folder_.path("models/m/1/part"));
  fs::create_symlink(folder_.path("outside"), folder_.path("models/m/1/part"));
  EXPECT_THAT(Error(), HasSubstr("m/1/part': expected a file or folder, got a "
                                 "link, and none is followed"));
  fs::remove(folder_.path("models/m/1/part"));
  folder_.Write("models/m/1/part", "abc");

  fs::remove(folder_.path("models/m/MANIFEST.sha256.sig"));
  EXPECT_THAT(Error(), HasSubstr("m/MANIFEST.sha256': expected its signature"));
  Sign();
  EXPECT_EQ(Error(), "");
  EXPECT_TRUE(HasNoFolder());
}

TEST_F(CheckedCopyTest, LoadOpensEachFileOfTheRepositoryOnce) {
  ModelRepository repository(Options());
  const absl::StatusOr<ModelPlan> plan = repository.Plan("m");
  ASSERT_TRUE(plan.ok()) << plan.status();
  const OwnedFd watch(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  std::map<int, std::string> names;
  for (const char* const name :
       {"config.pbtxt", "labels.txt", "1/part", "MANIFEST.sha256"}) {
    // Closes keep one open from being joined with the next.
    names[inotify_add_watch(
        watch.get(), folder_.path(absl::StrCat("models/m/", name)).c_str(),
        IN_OPEN | IN_CLOSE)] = name;
  }
  const auto model = repository.Load(*plan, 1, DeviceUse::kAlone);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT((*model)->labels[0], ElementsAre("cat", "dog"));
  std::map<std::string, int> opened;
  std::array<inotify_event, 64> events;  // a watch of a file has no names
  const ssize_t size = read(watch.get(), events.data(), sizeof(events));
  for (size_t i = 0; i < static_cast<size_t>(size) / sizeof(events[0]); ++i) {
    opened[names.at(events[i].wd)] += (events[i].mask & IN_OPEN) != 0 ? 1 : 0;
  }
  EXPECT_THAT(
      opened,
      ElementsAre(std::pair("1/part", 1), std::pair("MANIFEST.sha256", 1),
                  std::pair("config.pbtxt", 1), std::pair("labels.txt", 1)));
  EXPECT_TRUE(HasNoFolder()) << "after the load";
}

TEST_F(CheckedCopyTest, ConfigThatIsReplacedBeforeTheCheckMayPass) {
  ModelRepository repository(Options());
  const absl::StatusOr<ModelPlan> plan = repository.Plan("m");
  for (const std::string& other : {std::string("# signed, too\n") + kConfig,
                                   std::string(kConfig).substr(1)}) {
    folder_.Write("models/m/config.pbtxt", other);
    Sign();
    const absl::Status status =
        repository.Load(*plan, 1, DeviceUse::kAlone).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("m/config.pbtxt': expected a file that stays"));
    EXPECT_NE(repository.Plan("m")->Fingerprint(), plan->Fingerprint());
  }
  const auto again = repository.Plan("m");
  EXPECT_TRUE(repository.Load(*again, 1, DeviceUse::kAlone).ok());
}

TEST_F(CheckedCopyTest, ErrorsOfALoadHaveThePathsOfTheRepository) {
  folder_.Write("models/m/labels.txt", "");
  Sign();
  ModelRepository repository(Options());
  EXPECT_THAT(
      std::string(repository.Load(*repository.Plan("m"), 1, DeviceUse::kAlone)
                      .status()
                      .message()),
      AllOf(HasSubstr("'" + folder_.path("models/m/labels.txt") + "'"),
            Not(HasSubstr(temporary_.path()))));
  EXPECT_TRUE(HasNoFolder());
}

TEST_F(CheckedCopyTest, WithoutAPlaceForTheCopyItMayPass) {
  setenv("TMPDIR", folder_.path("none").c_str(), 1);
  EXPECT_EQ(Make().status().code(), absl::StatusCode::kFailedPrecondition);
  const absl::Status status =
      CheckManifests({1, folder_.path("models/m/1")}, Rules(),
                     folder_.Write("file", "no folder"));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("cannot make a copy of '"));
}

TEST_F(CheckedCopyTest, WhereNoManifestIsRequiredNothingIsCopied) {
  folder_.Write("file", "no folder");
  setenv("TMPDIR", folder_.path("file").c_str(), 1);
  ModelRepositoryOptions options = Options();
  options.manifests = {};
  ModelRepository repository(options);
  EXPECT_TRUE(
      repository.Load(*repository.Plan("m"), 1, DeviceUse::kAlone).ok());
}

}  // namespace
}  // namespace ferry

// Tests where the paths in messages begin after ModelRepository::ForClients.
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "models/repository/model_repository.h"
#include "tests/models/temp_folder.h"

namespace ferry {
namespace {

// What a client sees of `text`, said of the repository at `path`.
std::string ToldOf(const std::string& path, const std::string& text) {
  ModelRepositoryOptions options;
  options.path = path;
  return std::string(
      ModelRepository(options).ForClients(absl::NotFoundError(text)).message());
}

TEST(ToldPathsTest, ClientsSeeNoPathAboveTheModels) {
  const TempFolder folder;
  const std::string& path = folder.path();
  for (const std::string& given : {path, path + "/", path + "//"}) {
    EXPECT_EQ(ToldOf(given, absl::StrCat("cannot read '", path,
                                         "/m/1/model.pt' of the model "
                                         "repository '",
                                         path, "': no")),
              "cannot read 'm/1/model.pt' of the model repository: no");
    EXPECT_EQ(ToldOf(given, absl::StrCat(path, "/m/config.pbtxt:1: x\n", path,
                                         "/m/config.pbtxt:2: y")),
              "m/config.pbtxt:1: x\nm/config.pbtxt:2: y");
  }
  EXPECT_EQ(ToldOf("../x", "'../x/m' in '../x': a../x/m, '../xy/m'"),
            "'m' in: a../x/m, '../xy/m'");
  EXPECT_EQ(ToldOf(".", "'./m/1': 'm', which '../m' is not"),
            "'m/1': 'm', which '../m' is not");
  EXPECT_EQ(ToldOf("/models", "\"/lib/models/resnet.py\" '/models/m'"),
            "\"/lib/models/resnet.py\" 'm'");
}

TEST(ToldPathsTest, ClientsSeeNoPathAboveTheModelOfAFlag) {
  const TempFolder folder;
  for (const std::string& path :
       {folder.path("model.pt"), std::string("../x/model.pt")}) {
    ModelRepositoryOptions options;
    options.single = {.path = path, .name = "m", .config = {}};
    EXPECT_EQ(ModelRepository(options).ForClients(
                  absl::InternalError(absl::StrCat("'", path, "': broken"))),
              absl::InternalError("'model.pt': broken"));
  }
}

}  // namespace
}  // namespace ferry

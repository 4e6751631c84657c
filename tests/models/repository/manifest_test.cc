// Tests what CheckManifests finds wrong, with which words, and what it leaves.
#include "models/repository/manifest.h"

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/files/sha256.h"
#include "models/repository/model_repository.h"
#include "tests/models/signing_key.h"
#include "tests/models/temp_folder.h"

namespace ferry {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::testing::Not;

// The digests of "abc" and of nothing: published examples.
constexpr char kAbc[] =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr char kNothing[] =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

class ManifestTest : public testing::Test {
 protected:
  std::string Check(const ManifestRules& rules) const {
    return std::string(
        CheckManifests({1, folder_.path("m/1")}, rules).message());
  }
  std::string Check(ManifestUse use = ManifestUse::kWhereThereIsOne) const {
    return Check(ManifestRules{.use = use});
  }

  // Requires manifests that this key has signed.
  ManifestRules SignedBy(const SigningKey& key) const {
    return {
        .use = ManifestUse::kRequired,
        .key = *Ed25519Key::Read(folder_.Write("key.pem", key.PublicPem()))};
  }

  static std::string Line(const std::string& digest, const std::string& file) {
    return digest + "  " + file + "\n";
  }

  const TempFolder folder_;
};

TEST_F(ManifestTest, DigestsAreThoseOfSha256) {
  EXPECT_EQ(*Sha256OfFile(folder_.Write("abc", "abc")), kAbc);
  EXPECT_EQ(*Sha256OfFile(folder_.Write("nothing", "")), kNothing);
  // More than is read at once.
  EXPECT_EQ(*Sha256OfFile(folder_.Write("a", std::string(3 << 20, 'a'))),
            "6f850bc94ae6f7de14297c01616c36d712d22864497b28a63b81d776b035e656");
  EXPECT_EQ(Sha256OfFile(folder_.path("none")).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(ManifestTest, NoneIsAskedForUnlessRequired) {
  folder_.Write("m/1/model.pt", "abc");
  folder_.Write("m/config.pbtxt", "abc");
  EXPECT_EQ(Check(), "");
  const std::string required = Check(ManifestUse::kRequired);
  EXPECT_THAT(required, HasSubstr("m/1/model.pt': expected a line in '"));
  EXPECT_THAT(required, HasSubstr("m/MANIFEST.sha256', which "
                                  "--require-manifest asks for, got none"));
}

TEST_F(ManifestTest, ManifestOfTheModelIsForItsFilesAndTheVersions) {
  folder_.Write("m/1/model.pt", "abc");
  folder_.Write("m/1/more/part", "abc");
  folder_.Write("m/2/model.pt", "not looked at");
  folder_.Write("m/config.pbtxt", "");
  folder_.Write("m/MANIFEST.sha256",
                Line(kAbc, "1/model.pt") + Line(kAbc, "./1/more/part") +
                    std::string(kNothing) + " *config.pbtxt\n" +
                    Line(kNothing, "2/model.pt"));
  EXPECT_EQ(Check(ManifestUse::kRequired), "");
}

TEST_F(ManifestTest, ManifestOfAVersionIsForItsOwnFiles) {
  folder_.Write("m/1/model.pt", "abc");
  folder_.Write("m/1/MANIFEST.sha256", Line(kAbc, "model.pt"));
  folder_.Write("m/config.pbtxt", "");
  EXPECT_EQ(Check(), "");
  EXPECT_THAT(Check(ManifestUse::kRequired), HasSubstr("m/config.pbtxt'"));
  folder_.Write("m/MANIFEST.sha256", Line(kNothing, "config.pbtxt"));
  EXPECT_EQ(Check(ManifestUse::kRequired), "");
}

TEST_F(ManifestTest, DataOfWarmUpIsAmongTheModelsFiles) {
  folder_.Write("m/1/model.pt", "abc");
  folder_.Write("m/warmup/row", "abd");
  folder_.Write("m/MANIFEST.sha256", Line(kAbc, "1/model.pt"));
  EXPECT_THAT(Check(ManifestUse::kRequired),
              HasSubstr("m/warmup/row': expected a line in '"));
  folder_.Write("m/MANIFEST.sha256",
                Line(kAbc, "1/model.pt") + Line(kAbc, "warmup/row"));
  EXPECT_THAT(Check(), HasSubstr("m/warmup/row': expected SHA-256 "));
}

TEST_F(ManifestTest, EveryDifferenceIsTold) {
  folder_.Write("m/1/model.pt", "abd");
  folder_.Write("m/1/surplus", "");
  folder_.Write("m/1/MANIFEST.sha256",
                Line(kAbc, "model.pt") + Line(kAbc, "missing"));
  const std::string found = Check();
  EXPECT_THAT(found,
              HasSubstr("m/1/model.pt': expected SHA-256 " + std::string(kAbc) +
                        ", got a52d159f262b2c6ddb724a61840befc36eb30c88877a4030"
                        "b65cbe86298449c9"));
  EXPECT_THAT(found, HasSubstr("m/1/missing': expected a file with SHA-256 " +
                               std::string(kAbc) + ", cannot read"));
  EXPECT_THAT(found, HasSubstr("m/1/surplus': expected a line in '"));
}

TEST_F(ManifestTest, LinesThatAreNoneAreNamed) {
  folder_.Write("m/1/model.pt", "abc");
  const std::string wrong[] = {"abc  model.pt\n",
                               std::string(kAbc) + "model.pt\n",
                               std::string(kAbc) + "  \n",
                               Line(kAbc, "/etc/passwd"),
                               Line(kAbc, "../2/model.pt"),
                               Line(kAbc, "a/../../b"),
                               Line(kAbc, "."),
                               Line(kAbc, "more/"),
                               Line(kAbc, std::string("model.pt\0x", 10)),
                               Line(std::string(64, 'g'), "model.pt")};
  for (const std::string& line : wrong) {
    folder_.Write("m/1/MANIFEST.sha256", Line(kAbc, "model.pt") + line);
    EXPECT_THAT(Check(), HasSubstr("m/1/MANIFEST.sha256':2: expected '<64"))
        << line;
  }
}

TEST_F(ManifestTest, WithAKeyItNeedsTheSignatureOfItsBytes) {
  const SigningKey key;
  const ManifestRules rules = SignedBy(key);
  folder_.Write("m/1/model.pt", "abc");
  const std::string text = Line(kAbc, "1/model.pt");
  folder_.Write("m/MANIFEST.sha256", text);
  EXPECT_THAT(Check(rules),
              HasSubstr("m/MANIFEST.sha256': expected its signature in "
                        "'MANIFEST.sha256.sig' beside it, which --manifest-key "
                        "asks for, got none"));
  const std::string signature = key.Sign(text);
  folder_.Write("m/MANIFEST.sha256.sig", signature);
  EXPECT_EQ(Check(rules), "");

  folder_.Write("m/MANIFEST.sha256.sig", signature.substr(1));
  EXPECT_THAT(Check(rules),
              HasSubstr("m/MANIFEST.sha256.sig': expected 64 bytes, a raw "
                        "Ed25519 signature, got 63"));
  folder_.Write("m/MANIFEST.sha256.sig", signature + "\n");
  EXPECT_THAT(Check(rules), HasSubstr("expected at most 64 bytes, got more"));
  folder_.Write("m/MANIFEST.sha256.sig", SigningKey().Sign(text));
  EXPECT_THAT(Check(rules),
              HasSubstr("m/MANIFEST.sha256': expected the text that "
                        "'MANIFEST.sha256.sig' signs by the key in '"));
  folder_.Write("m/MANIFEST.sha256.sig", signature);
  folder_.Write("m/MANIFEST.sha256", "no line\n" + text);
  EXPECT_THAT(Check(rules), HasSubstr("expected the text that '"))
      << "it is checked before a line is read";
  EXPECT_THAT(Check(), HasSubstr("expected '<64 hex"))
      << "without a key, signatures are not looked at";
}

TEST_F(ManifestTest, EachManifestHasASignatureOfItsOwn) {
  const SigningKey key;
  const ManifestRules rules = SignedBy(key);
  const std::string of_version = Line(kAbc, "model.pt");
  const std::string of_model = Line(kNothing, "config.pbtxt");
  folder_.Write("m/1/model.pt", "abc");
  folder_.Write("m/config.pbtxt", "");
  folder_.Write("m/1/MANIFEST.sha256", of_version);
  folder_.Write("m/MANIFEST.sha256", of_model);
  folder_.Write("m/MANIFEST.sha256.sig", key.Sign(of_model));
  EXPECT_THAT(Check(rules), HasSubstr("m/1/MANIFEST.sha256': expected its "));
  folder_.Write("m/1/MANIFEST.sha256.sig", key.Sign(of_version));
  EXPECT_EQ(Check(rules), "");
  fs::remove(folder_.path("m/MANIFEST.sha256.sig"));
  EXPECT_THAT(Check(rules), HasSubstr("m/MANIFEST.sha256': expected its "));
}

TEST_F(ManifestTest, LinksAreRefusedWhereItIsRequiredAndElseFollowed) {
  folder_.Write("store/file", "abc");
  folder_.Write("m/1/plain", "abc");
  folder_.Write("m/1/MANIFEST.sha256",
                Line(kAbc, "plain") + Line(kAbc, "link"));
  fs::create_symlink(folder_.path("store/file"), folder_.path("m/1/link"));
  EXPECT_EQ(Check(), "");
  const std::string refused = "': expected a file or folder, got a link";
  EXPECT_THAT(Check(ManifestUse::kRequired), HasSubstr("m/1/link" + refused));
  fs::remove(folder_.path("m/1/link"));
  folder_.Write("m/1/link", "abc");
  EXPECT_EQ(Check(ManifestUse::kRequired), "");
  // A link to a folder that no line is of.
  fs::create_symlink(folder_.path("store"), folder_.path("m/1/folder"));
  EXPECT_EQ(Check(), "");
  EXPECT_THAT(Check(ManifestUse::kRequired),
              HasSubstr("m/1/folder': expected a line in '"));
  fs::remove(folder_.path("m/1/folder"));
  // The folders of the version and the model themselves.
  fs::rename(folder_.path("m/1"), folder_.path("version"));
  fs::create_symlink(folder_.path("version"), folder_.path("m/1"));
  EXPECT_EQ(Check(), "");
  EXPECT_THAT(Check(ManifestUse::kRequired), HasSubstr("m/1" + refused));
  fs::remove(folder_.path("m/1"));
  fs::rename(folder_.path("version"), folder_.path("m/1"));
  fs::rename(folder_.path("m"), folder_.path("model"));
  fs::create_symlink(folder_.path("model"), folder_.path("m"));
  EXPECT_EQ(Check(), "");
  EXPECT_THAT(Check(ManifestUse::kRequired), HasSubstr("/m" + refused));
}

TEST_F(ManifestTest, FileThatCannotBeReadNowMayPassBesideOthersThatMayNot) {
  folder_.Write("m/1/model.pt", "abd");
  folder_.Write("m/1/MANIFEST.sha256",
                Line(kAbc, "loop") + Line(kAbc, "model.pt"));
  fs::create_symlink("loop", folder_.path("m/1/loop"));
  const absl::Status status = CheckManifests({1, folder_.path("m/1")}, {});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("m/1/loop': expected a file with SHA-256 "));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("m/1/model.pt': expected SHA-256 "));
}

TEST_F(ManifestTest, ModelIsNotLoadedWhereAFileHasChanged) {
  const std::string config = R"(
backend: "ferry_echo"
input { name: "x" data_type: TYPE_INT64 dims: 1 }
output { name: "y" data_type: TYPE_INT64 dims: 1 }
)";
  const std::string path = folder_.Write("m/config.pbtxt", config);
  folder_.Write("m/1/notes", "abc");
  folder_.Write(
      "m/MANIFEST.sha256",
      Line(kAbc, "1/notes") + Line(*Sha256OfFile(path), "config.pbtxt"));
  ModelRepositoryOptions options;
  options.path = folder_.path();
  options.manifests.use = ManifestUse::kRequired;
  ModelRepository repository(options);
  EXPECT_TRUE(
      repository.Load(*repository.Plan("m"), 1, DeviceUse::kAlone).ok());
  folder_.Write("m/config.pbtxt", config + "# changed\n");
  const auto model =
      repository.Load(*repository.Plan("m"), 1, DeviceUse::kAlone);
  EXPECT_EQ(model.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(model.status().message()),
              HasSubstr("model 'm' version 1: '"));
  EXPECT_THAT(std::string(model.status().message()), Not(HasSubstr("notes")));
}

}  // namespace
}  // namespace ferry

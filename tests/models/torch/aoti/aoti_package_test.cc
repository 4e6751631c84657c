// Tests that files that are no packages, or are for another machine, are
// refused, and what a package says of its inputs.
#include "models/torch/aoti/aoti_package.h"

#include <ATen/Functions.h>

#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/models/temp_folder.h"
#include "tests/models/torch/aoti/aoti_archive.h"

namespace ferry {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Processor kOld = {"x86_64", {"AVX2"}, {"avx2", "fma"}};

class AotiPackageTest : public testing::Test {
 protected:
  absl::StatusOr<AotiPackage> Unpack(const std::string& path,
                                     const Processor& processor = kOld) {
    return UnpackAotiPackage(path, processor, folder_.path());
  }

  std::string Error(const AotiArchive& archive,
                    const Processor& processor = kOld) {
    const std::string path = archive.Write(folder_.path("m.pt2"));
    const absl::StatusOr<AotiPackage> package = Unpack(path, processor);
    EXPECT_FALSE(package.ok());
    return std::string(package.status().message());
  }

  std::string TargetError(const std::string& key, const std::string& value) {
    AotiArchive archive = Whole();
    const size_t at = archive.metadata.find(key) + key.size() + 4;
    archive.metadata.replace(at, archive.metadata.find('"', at) - at, value);
    const std::string path = archive.Write(folder_.path("m.pt2"));
    const absl::StatusOr<AotiPackage> package = Unpack(path);
    EXPECT_EQ(package.status().code(), absl::StatusCode::kFailedPrecondition);
    return std::string(package.status().message());
  }

  static AotiArchive Whole() {
    AotiArchive archive;
    archive.others["data/aotinductor/model/w.so"] = "code";
    return archive;
  }

  const TempFolder folder_;
};

TEST_F(AotiPackageTest, WholePackageIsUnpacked) {
  AotiArchive archive = Whole();
  archive.others["data/aotinductor/model/w.json"] = "calls";
  const auto package = Unpack(archive.Write(folder_.path("m.pt2")));
  ASSERT_TRUE(package.ok()) << package.status();
  EXPECT_EQ(package->library, folder_.path("model.so"));
  std::string code, calls;
  std::ifstream(folder_.path("model.so")) >> code;
  std::ifstream(folder_.path("model.json")) >> calls;
  EXPECT_EQ(code, "code");
  EXPECT_EQ(calls, "calls");
  ASSERT_EQ(package->inputs.size(), 1u);
  EXPECT_EQ(package->inputs[0].type, at::kFloat);
}

TEST_F(AotiPackageTest, OnlyModelOfAnotherNameIsTaken) {
  AotiArchive archive;
  archive.others = {{"data/aotinductor/net/a.so", "code"},
                    {"data/aotinductor/net/a.cpp", archive.source},
                    {"data/aotinductor/net/a_metadata.json", archive.metadata}};
  archive.source = archive.metadata = "";
  const auto package = Unpack(archive.Write(folder_.path("m.pt2")));
  EXPECT_TRUE(package.ok()) << package.status();
  archive.others["data/aotinductor/other/b.so"] = "code";
  EXPECT_THAT(Error(archive), HasSubstr("it holds several models"));
}

TEST_F(AotiPackageTest, FilesThatAreNoPackagesAreNamedWithTheReason) {
  EXPECT_EQ(Unpack(folder_.path("none.pt2")).status().code(),
            absl::StatusCode::kNotFound);
  for (const char* contents : {"", "PK broken", "no zip at all"}) {
    const auto package = Unpack(folder_.Write("broken.pt2", contents));
    EXPECT_EQ(package.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(package.status().message()),
                AllOf(HasSubstr("broken.pt2"), HasSubstr("zip")));
  }
  const std::string whole = Whole().Write(folder_.path("m.pt2"));
  std::ifstream file(whole, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  for (size_t size : {bytes.size() / 2, bytes.size() - 1}) {
    const auto package =
        Unpack(folder_.Write("cut.pt2", bytes.substr(0, size)));
    EXPECT_EQ(package.status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(AotiPackageTest, ArchivesOfAnotherKindAreNamed) {
  AotiArchive archive;
  archive.source = archive.metadata = "";
  archive.others = {{"constants.pkl", "x"}, {"code/__torch__.py", "x"}};
  EXPECT_THAT(Error(archive), HasSubstr("it is a TorchScript file"));
  archive.others = {{"models/model.json", "x"}};
  EXPECT_THAT(Error(archive), HasSubstr("torch.export that is not compiled"));
  archive.others = {{"something", "x"}};
  EXPECT_THAT(Error(archive), HasSubstr("it has nothing in data/aotinductor"));
}

TEST_F(AotiPackageTest, PartsThatAreMissingAreNamed) {
  EXPECT_THAT(Error(AotiArchive()), HasSubstr("sources only"));
  AotiArchive archive = Whole();
  archive.metadata = "";
  EXPECT_THAT(Error(archive), HasSubstr("it has no data/aotinductor/model/w_"));
  archive = Whole();
  archive.metadata = "no JSON";
  EXPECT_THAT(Error(archive), HasSubstr("device ''"));
  archive = Whole();
  archive.source = "";
  EXPECT_THAT(Error(archive), HasSubstr("w.cpp"));
  archive.source = "inputs_info_[0].name = \"x\";\n";
  EXPECT_THAT(Error(archive), HasSubstr("input 0: its source does not say"));
  archive = Whole();
  archive.others["data/weights/w0"] = "1";
  EXPECT_THAT(Error(archive), HasSubstr("package_constants_in_so"));
}

TEST_F(AotiPackageTest, TargetThatDoesNotFitIsNamedWithWhatThereIs) {
  EXPECT_THAT(TargetError("AOTI_DEVICE_KEY", "cuda"),
              HasSubstr("compiled for device 'cuda', expected 'cpu'"));
  EXPECT_THAT(TargetError("AOTI_MACHINE", "aarch64"),
              HasSubstr("linux on aarch64, expected linux on x86_64"));
  EXPECT_THAT(TargetError("AOTI_PLATFORM", "darwin"),
              HasSubstr("darwin on x86_64, expected linux on x86_64"));
  EXPECT_THAT(TargetError("AOTI_CPU_ISA", "AVX512 AVX512_VNNI"),
              HasSubstr("compiled for AVX512 AVX512_VNNI, this processor has "
                        "no AVX512, AVX512_VNNI"));
}

TEST_F(AotiPackageTest, CodeRunsOnDevicesOfItsOwnMajorVersion) {
  const auto check = [](const char* compiled_for, const char* here) {
    Processor processor = {"x86_64", {}, {}};
    processor.device = "cuda";
    processor.architecture = here;
    return CheckAotiTarget({{"AOTI_DEVICE_KEY", "cuda"},
                            {"AOTI_PLATFORM", "linux"},
                            {"AOTI_MACHINE", "x86_64"},
                            {"AOTI_COMPUTE_CAPABILITY", compiled_for}},
                           processor);
  };
  EXPECT_TRUE(check("90", "90").ok());
  EXPECT_TRUE(check("80", "89").ok());
  EXPECT_TRUE(check("", "90").ok());
  EXPECT_THAT(check("80", "90").message(),
              HasSubstr("compute capability 80, this device has 90"));
  EXPECT_FALSE(check("89", "80").ok());
  EXPECT_FALSE(check("100", "90").ok());
}

TEST_F(AotiPackageTest, FlagsThatWereNotedAreNeeded) {
  AotiArchive archive = Whole();
  archive.metadata.insert(1, R"("FERRY_CPU_FLAGS": "avx2 avx512_bf16",)");
  EXPECT_THAT(Error(archive), HasSubstr("this processor has no avx512_bf16"));
  const auto package = Unpack(archive.Write(folder_.path("m.pt2")),
                              {"x86_64", {"AVX2"}, {"avx2", "avx512_bf16"}});
  EXPECT_TRUE(package.ok()) << package.status();
}

TEST_F(AotiPackageTest, PackageWithoutVectorsFitsEveryProcessor) {
  AotiArchive archive = Whole();
  const size_t at = archive.metadata.find("AVX2");
  archive.metadata.replace(at, 4, "INVALID_VEC_ISA");
  const auto package =
      Unpack(archive.Write(folder_.path("m.pt2")), {"x86_64", {}, {}});
  EXPECT_TRUE(package.ok()) << package.status();
}

// --- inputs ------------------------------------------------------------------

constexpr char kSource[] = R"(
    inputs_info_[0].name = "ids";
    inputs_info_[1].name = "mask";
    constants_info_[0].name = "w";
    int32_t ids_expected_dtype = aoti_torch_dtype_int64();
    auto ids_size = ids.sizes();
    if (ids_size[0] < 2) {
           << ids_size[0] << "\n";
    if (ids_size[0] > 8) {
    if (ids_size[1] < 4) {
    if (1 != ids_stride[1]) {
    int32_t mask_expected_dtype = aoti_torch_dtype_bfloat16();
    if (mask_size[0] < 2) {
    if (mask_size[0] > 8) {
    if (mask_size[1] < 4) {
    if (7 != mask_size[2]) {
    if (1 != mask_stride[2]) {
    int64_t s1 = ids_size[0];
    int64_t s2 = ids_size[1];
)";

std::string InputError(const at::Tensor& ids, const at::Tensor& mask) {
  const auto inputs = ReadAotiInputs(kSource);
  EXPECT_TRUE(inputs.ok()) << inputs.status();
  return std::string(CheckAotiInputs(*inputs, {ids, mask}, true).message());
}

TEST(AotiInputsTest, TypesAndSizesAreRead) {
  const auto inputs = ReadAotiInputs(kSource);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  ASSERT_EQ(inputs->size(), 2u);
  EXPECT_EQ((*inputs)[0].type, at::kLong);
  EXPECT_EQ(DescribeSizes((*inputs)[0]), "[0..8,4..]");
  EXPECT_EQ((*inputs)[1].type, at::kBFloat16);
  EXPECT_EQ(DescribeSizes((*inputs)[1]), "[0..8,4..,7]");
}

TEST(AotiInputsTest, WhatThePackageDoesNotTakeIsRefused) {
  const auto ids = [](int64_t rows, int64_t size) {
    return at::zeros({rows, size}, at::kLong);
  };
  const auto mask = [](int64_t rows, int64_t size) {
    return at::zeros({rows, size, 7}, at::kBFloat16);
  };
  EXPECT_EQ(InputError(ids(1, 4), mask(1, 4)), "") << "one row, as any other";
  EXPECT_EQ(InputError(ids(8, 100), mask(8, 100)), "");
  EXPECT_THAT(InputError(ids(9, 4), mask(9, 4)),
              HasSubstr("input 'ids': the package takes sizes [0..8,4..], got "
                        "[9,4]"));
  EXPECT_THAT(InputError(ids(2, 3), mask(2, 3)), HasSubstr("got [2,3]"));
  EXPECT_THAT(InputError(ids(2, 4), at::zeros({2, 4}, at::kBFloat16)),
              HasSubstr("input 'mask': the package takes sizes"));
  EXPECT_THAT(InputError(ids(2, 4), at::zeros({2, 4, 7})),
              HasSubstr("takes BFloat16, got Float"));
  EXPECT_THAT(InputError(ids(2, 9), mask(2, 4)),
              HasSubstr("input 'mask': the package takes the same size in "
                        "dimension 1 as elsewhere, 9 of 'ids', got 4"));
  EXPECT_THAT(InputError(ids(2, 4),
                         at::zeros({2, 7, 4}, at::kBFloat16).transpose(1, 2)),
              HasSubstr("a stride of 1 in dimension 2"));
}

// Another size may fit where the request chooses it, not where Ferry does.
TEST(AotiInputsTest, CodeTellsWhetherOtherSizesWouldFit) {
  const auto inputs = ReadAotiInputs(kSource);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  const auto code = [&](at::IntArrayRef ids, bool has_rows) {
    return CheckAotiInputs(
               *inputs,
               {at::zeros(ids, at::kLong), at::zeros({2, 4, 7}, at::kBFloat16)},
               has_rows)
        .code();
  };
  EXPECT_EQ(code({2, 4}, true), absl::StatusCode::kOk);
  EXPECT_EQ(code({2, 3}, true), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(code({9, 4}, true), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({9, 4}, false), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(code({2}, true), absl::StatusCode::kInvalidArgument);
}

// Rows and sizes with the same bounds: the mask's 1 is none of the ids' sizes,
// though it is their rows.
TEST(AotiInputsTest, SizesAreNotTakenForRows) {
  const auto inputs = ReadAotiInputs(R"(
    inputs_info_[0].name = "ids";
    inputs_info_[1].name = "mask";
    int32_t ids_expected_dtype = aoti_torch_dtype_int64();
    if (1 != ids_stride[1]) {
    int32_t mask_expected_dtype = aoti_torch_dtype_int64();
    if (1 != mask_stride[1]) {
    int64_t s1 = ids_size[0];
    int64_t s2 = ids_size[1];
)");
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  const auto check = [&](int64_t ids, int64_t mask) {
    return CheckAotiInputs(
        *inputs,
        {at::zeros({1, ids}, at::kLong), at::zeros({1, mask}, at::kLong)},
        /*has_rows=*/true);
  };
  EXPECT_TRUE(check(64, 64).ok());
  EXPECT_FALSE(check(64, 1).ok());
}

}  // namespace
}  // namespace ferry

// Tests that Library opens, and what it says where it cannot.
#include "models/nvml/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/nvml/devices.h"
#include "tests/models/nvml/scenarios.h"

namespace ferry::nvml {
namespace {

using ::testing::HasSubstr;

TEST(LibraryTest, MissingLibraryIsNotFoundByItsName) {
  const auto library = Library::Open("/no/such/libnvidia-ml.so.1");
  EXPECT_EQ(library.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(library.status().message(),
              HasSubstr("/no/such/libnvidia-ml.so.1"));
  EXPECT_THAT(library.status().message(), HasSubstr("NVIDIA's driver"));
}

TEST(LibraryTest, FileIsOpenedByItsPath) {
  ASSERT_TRUE(StartFake(WholeGpu()).ok());  // sets the environment
  // The scenario is gone: the library is there, and does not start.
  const auto library = Library::Open(FERRY_FAKE_NVML_FILE);
  EXPECT_EQ(library.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(library.status().message(), HasSubstr("UNKNOWN"));
}

TEST(LibraryTest, LibraryWithoutInitIsNone) {
  const auto library = StartFake(WholeGpu(), {"nvmlInit_v2"});
  EXPECT_EQ(library.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(library.status().message(), HasSubstr("without nvmlInit_v2"));
}

TEST(LibraryTest, CodeOfTheStartIsTold) {
  const std::pair<int, const char*> codes[] = {{9, "DRIVER_NOT_LOADED"},
                                               {18, "LIB_RM_VERSION_MISMATCH"},
                                               {4, "NO_PERMISSION"},
                                               {777, "CODE_777"}};
  for (const auto& [code, name] : codes) {
    const auto library =
        StartFake("code call=nvmlInit_v2 code=" + std::to_string(code) + "\n");
    EXPECT_EQ(library.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(library.status().message(), HasSubstr(name));
  }
}

TEST(LibraryTest, VersionsAreTold) {
  const auto library = StartFake(WholeGpu());
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_EQ((*library)->DriverVersion(), "580.95.05");
  EXPECT_EQ((*library)->NvmlVersion(), "13.fake");
}

TEST(LibraryTest, MissingSymbolIsAbsentAndCounted) {
  const auto library = StartFake(WholeGpu(), {"nvmlSystemGetDriverVersion"});
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_EQ((*library)->DriverVersion(), std::nullopt);
  EXPECT_EQ(
      CountOf(**library, "nvmlSystemGetDriverVersion", Code::kFunctionNotFound),
      1U);
}

TEST(LibraryTest, NothingButInitIsNeeded) {
  const auto whole = StartFake(WholeGpu());
  ASSERT_TRUE(whole.ok()) << whole.status();
  // Every symbol but that of the start.
  const SymbolLookup only_init = [&whole](const char* name) {
    return std::string(name) == "nvmlInit_v2" ? (*whole)->symbols().lookup(name)
                                              : nullptr;
  };
  const Symbols symbols{only_init};
  EXPECT_NE(symbols.init.pointer, nullptr);
  EXPECT_EQ(symbols.device_count.pointer, nullptr);
  Library& library = **whole;
  EXPECT_EQ(library.Call(symbols.shutdown, Subject::kSystem),
            Code::kFunctionNotFound);
  EXPECT_EQ(library.Get(symbols.power_mw, Subject::kGpu, nullptr),
            std::nullopt);
}

}  // namespace
}  // namespace ferry::nvml

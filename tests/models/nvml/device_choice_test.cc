// Tests which device Choose picks, and what it says where there is none.
#include "models/nvml/device_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/models/nvml/scenarios.h"

namespace ferry::nvml {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DeviceChoiceTest : public ::testing::Test {
 protected:
  void SetUp() override { Play(MixedMig()); }

  void Play(const std::string& scenario) {
    const auto library = StartFake(scenario);
    ASSERT_TRUE(library.ok()) << library.status();
    devices_ = *ListDevices(**library);
  }

  absl::StatusOr<DeviceChoice> ChooseText(
      const std::string& text,
      const std::optional<std::string>& visible = std::nullopt) {
    const absl::StatusOr<DeviceSelector> selector = ParseDevice(text);
    EXPECT_TRUE(selector.ok()) << selector.status();
    return Choose(*selector, devices_, visible);
  }

  void ExpectRefused(const absl::StatusOr<DeviceChoice>& choice,
                     absl::StatusCode code, const std::string& text) {
    EXPECT_EQ(choice.status().code(), code) << choice.status();
    EXPECT_THAT(choice.status().message(), HasSubstr(text));
  }

  Devices devices_;
};

TEST_F(DeviceChoiceTest, WholeGpuByIndex) {
  const absl::StatusOr<DeviceChoice> choice = ChooseText("cuda:1");
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->uuid, kOtherGpuUuid);
  EXPECT_FALSE(choice->is_mig());
  EXPECT_EQ(choice->name, "NVIDIA H200");
  EXPECT_EQ(choice->pci_bus_id, "0001:ab:00.0");
  EXPECT_EQ(choice->memory_bytes, uint64_t{143771} << 20);
  EXPECT_EQ(choice->multiprocessor_count, std::nullopt);
  EXPECT_THAT(choice->warnings, IsEmpty());
}

TEST_F(DeviceChoiceTest, MigDeviceByUuid) {
  const absl::StatusOr<DeviceChoice> choice = ChooseText(kSecondMig);
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->uuid, kSecondMig);
  EXPECT_EQ(choice->parent_uuid, kGpuUuid);
  EXPECT_EQ(choice->profile, "2g.35gb");
  EXPECT_EQ(choice->multiprocessor_count, 32U);
  EXPECT_EQ(choice->memory_bytes, uint64_t{33792} << 20);
  EXPECT_EQ(choice->pci_bus_id, "0000:1b:00.0");
  EXPECT_THAT(Describe(*choice),
              AllOf(HasSubstr("profile=2g.35gb multiprocessors=32"),
                    HasSubstr("memory_bytes=35433480192"),
                    HasSubstr("name=NVIDIA_H200_MIG_2g.35gb")));
}

TEST_F(DeviceChoiceTest, BeginningOfAUuidIsEnoughWhereItFitsOne) {
  EXPECT_EQ(ChooseText("MIG-12")->uuid, kSecondMig);
  EXPECT_EQ(ChooseText("GPU-AABB")->uuid, kOtherGpuUuid);
  ExpectRefused(ChooseText("MIG-1"), absl::StatusCode::kInvalidArgument,
                "2 devices begin with MIG-1");
  ExpectRefused(ChooseText("GPU-aa"), absl::StatusCode::kInvalidArgument,
                "2 devices begin with GPU-aa");
}

TEST_F(DeviceChoiceTest, WholeUuidIsNoBeginning) {
  devices_.gpus[1].uuid = std::string(kGpuUuid) + "0";
  devices_.gpus[0].is_mig_on = false;
  EXPECT_EQ(ChooseText(kGpuUuid)->uuid, kGpuUuid);
}

TEST_F(DeviceChoiceTest, UnknownDeviceIsAnsweredWithAllThatThereAre) {
  for (const char* text : {"cuda:2", "GPU-ff", "MIG-ff"}) {
    const absl::StatusOr<DeviceChoice> choice = ChooseText(text);
    ExpectRefused(choice, absl::StatusCode::kNotFound, text);
    for (const char* uuid :
         {kGpuUuid, kOtherGpuUuid, kFirstMig, kSecondMig, kThirdMig}) {
      EXPECT_THAT(choice.status().message(), HasSubstr(uuid)) << text;
    }
  }
}

TEST_F(DeviceChoiceTest, OnlyIsTheOneGpuWithoutMig) {
  Play(WholeGpu());
  const absl::StatusOr<DeviceChoice> choice = ChooseText("only");
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->uuid, kGpuUuid);
  EXPECT_FALSE(choice->is_mig());
  Play("gpu uuid=GPU-1\ncode call=nvmlDeviceGetMigMode code=3\n");
  EXPECT_EQ(ChooseText("only")->uuid, "GPU-1") << "a GPU that knows no MIG";
}

TEST_F(DeviceChoiceTest, OnlyIsTheOneMigDeviceWhateverGpuItIsOn) {
  Play(absl::StrCat("gpu uuid=", kGpuUuid,
                    " name=NVIDIA_H200 mig=on places=7\n"
                    "gpu uuid=",
                    kOtherGpuUuid,
                    " mig=on places=7\n"
                    "mig gpu=1 place=4 uuid=",
                    kSecondMig, " name=NVIDIA_H200_MIG_1g.18gb\n"));
  const absl::StatusOr<DeviceChoice> choice = ChooseText("only");
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->uuid, kSecondMig);
  EXPECT_EQ(choice->parent_uuid, kOtherGpuUuid);
  EXPECT_THAT(choice->warnings, IsEmpty());
}

TEST_F(DeviceChoiceTest, OnlyIsRefusedWhereThereAreSeveral) {
  const absl::StatusOr<DeviceChoice> mixed = ChooseText("only");
  ExpectRefused(mixed, absl::StatusCode::kFailedPrecondition,
                "expected one device, a GPU without MIG or a MIG device, for "
                "only, got 4; NVML sees: ");
  for (const char* uuid : {kOtherGpuUuid, kFirstMig, kSecondMig, kThirdMig}) {
    EXPECT_THAT(mixed.status().message(), HasSubstr(uuid));
  }
  Play(SevenSlices());
  ExpectRefused(ChooseText("only"), absl::StatusCode::kFailedPrecondition,
                "got 7; NVML sees: ");
}

TEST_F(DeviceChoiceTest, OnlyIsRefusedWhereThereIsNone) {
  Play("driver version=1\n");
  ExpectRefused(ChooseText("only"), absl::StatusCode::kNotFound,
                "got 0; NVML sees: no GPU");
  Play("gpu uuid=GPU-1 mig=on places=7\n");
  ExpectRefused(ChooseText("only"), absl::StatusCode::kNotFound,
                "no MIG device");
  Play("gpu uuid=GPU-1\ncode call=nvmlDeviceGetUUID code=4\n");
  ExpectRefused(ChooseText("only"), absl::StatusCode::kNotFound,
                "GPU 0 unread: NO_PERMISSION");
}

TEST_F(DeviceChoiceTest, OnlyCountsAmongVisibleDevices) {
  EXPECT_EQ(ChooseText("only", kThirdMig)->uuid, kThirdMig);
  EXPECT_EQ(ChooseText("only", "MIG-11")->uuid, kFirstMig);
  EXPECT_EQ(ChooseText("only", kOtherGpuUuid)->uuid, kOtherGpuUuid);
  ExpectRefused(ChooseText("only", absl::StrCat(kFirstMig, ",", kOtherGpuUuid)),
                absl::StatusCode::kFailedPrecondition,
                "expected one device of CUDA_VISIBLE_DEVICES=");
  // All of a GPU with MIG on is none that can be taken as it is.
  ExpectRefused(ChooseText("only", kGpuUuid), absl::StatusCode::kNotFound,
                "got 0");
  ExpectRefused(ChooseText("only", "0"), absl::StatusCode::kInvalidArgument,
                "CUDA_VISIBLE_DEVICES: expected UUIDs");
}

TEST_F(DeviceChoiceTest, OnlyWarnsOfWhatMightBeASecondOne) {
  Play(WholeGpu());
  devices_.unread = {{1, Code::kGpuIsLost}, {2, Code::kNoPermission}};
  const absl::StatusOr<DeviceChoice> choice = ChooseText("only");
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_THAT(choice->warnings,
              ElementsAre(AllOf(HasSubstr("GPU 1 cannot be read: GPU_IS_LOST"),
                                HasSubstr(kGpuUuid))));
  EXPECT_THAT(ChooseText("cuda:0")->warnings, IsEmpty());
}

TEST_F(DeviceChoiceTest, BareIndexIsRefusedWithMigOn) {
  const absl::StatusOr<DeviceChoice> choice = ChooseText("cuda:0");
  ExpectRefused(choice, absl::StatusCode::kFailedPrecondition,
                "expected MIG-<uuid>, as MIG mode is on, got cuda:0");
  EXPECT_THAT(choice.status().message(),
              HasSubstr(std::string(kFirstMig) + " 1g.18gb"));
}

TEST_F(DeviceChoiceTest, WholeGpuIsRefusedWithMigOn) {
  ExpectRefused(ChooseText(kGpuUuid), absl::StatusCode::kFailedPrecondition,
                "as MIG mode is on");
  Play("gpu uuid=GPU-1 mig=on places=7\n");  // and no MIG device
  ExpectRefused(ChooseText("GPU-1"), absl::StatusCode::kFailedPrecondition,
                "no MIG device");
}

TEST_F(DeviceChoiceTest, MigDeviceOfAGpuWithMigOffIsRefused) {
  devices_.gpus[0].is_mig_on = false;
  ExpectRefused(ChooseText(kFirstMig), absl::StatusCode::kFailedPrecondition,
                "off on its GPU");
}

TEST_F(DeviceChoiceTest, ModeThatIsPendingIsAWarning) {
  Play("gpu uuid=GPU-1 mig=off pending=on\n");
  const absl::StatusOr<DeviceChoice> choice = ChooseText("cuda:0");
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_THAT(choice->warnings, ElementsAre(HasSubstr("next reset")));
}

TEST_F(DeviceChoiceTest, UnreadGpuIsToldWithItsCode) {
  Play("gpu uuid=GPU-1\ncode call=nvmlDeviceGetUUID code=4\n");
  ExpectRefused(ChooseText("cuda:0"), absl::StatusCode::kFailedPrecondition,
                "NO_PERMISSION");
}

TEST_F(DeviceChoiceTest, MachineWithoutAGpuSaysSo) {
  Play("driver version=1\n");
  ExpectRefused(ChooseText("cuda:0"), absl::StatusCode::kNotFound,
                "NVML sees: no GPU");
}

TEST_F(DeviceChoiceTest, IndexCountsAmongVisibleDevices) {
  const std::string visible =
      std::string(kSecondMig) + ", " + std::string(kOtherGpuUuid);
  EXPECT_EQ(ChooseText("cuda:0", visible)->uuid, kSecondMig);
  EXPECT_EQ(ChooseText("cuda:1", visible)->uuid, kOtherGpuUuid);
  ExpectRefused(ChooseText("cuda:2", visible), absl::StatusCode::kNotFound,
                "one of the 2 devices of CUDA_VISIBLE_DEVICES");
}

TEST_F(DeviceChoiceTest, DeviceOutsideOfTheVisibleOnesIsRefused) {
  EXPECT_EQ(ChooseText(kFirstMig, "MIG-11")->uuid, kFirstMig);
  ExpectRefused(ChooseText(kFirstMig, kSecondMig),
                absl::StatusCode::kFailedPrecondition,
                "expected one of CUDA_VISIBLE_DEVICES");
}

TEST_F(DeviceChoiceTest, VisibleIndexesAreRefusedAsTheirOrderIsCudas) {
  for (const char* visible : {"0", "", "0,1", "cpu", "GPU-aabb,1"}) {
    ExpectRefused(ChooseText("cuda:1", visible),
                  absl::StatusCode::kInvalidArgument,
                  "CUDA_VISIBLE_DEVICES: expected UUIDs");
  }
}

TEST_F(DeviceChoiceTest, ComputeInstancesOfOneGpuInstanceShareItsMemory) {
  Play(
      "gpu uuid=GPU-1 memory_mib=81559 mig=on places=7\n"
      "mig gpu=0 place=0 uuid=MIG-a gi=1 ci=0 memory_mib=20096\n"
      "mig gpu=0 place=1 uuid=MIG-b gi=2 ci=0 memory_mib=40448\n"
      "mig gpu=0 place=2 uuid=MIG-c gi=2 ci=1 memory_mib=40448\n"
      "mig gpu=0 place=3 uuid=MIG-d gi=2 ci=2 memory_mib=40448\n"
      "gpu uuid=GPU-2 memory_mib=81559 mig=on places=7\n"
      "mig gpu=1 place=0 uuid=MIG-e gi=2 ci=0 memory_mib=20096\n");
  const absl::StatusOr<DeviceChoice> shared = ChooseText("MIG-c");
  ASSERT_TRUE(shared.ok()) << shared.status();
  EXPECT_EQ(shared->memory_sharers, 3u);
  EXPECT_THAT(shared->warnings,
              ElementsAre("MIG-c shares the memory of its GPU instance with "
                          "MIG-b, MIG-d: models here have 1/3 of it at most; "
                          "make one compute instance of a GPU instance where "
                          "they are to have all"));
  EXPECT_THAT(Describe(*shared), HasSubstr("memory_sharers=3"));
  for (const char* const alone : {"MIG-a", "MIG-e"}) {
    const absl::StatusOr<DeviceChoice> choice = ChooseText(alone);
    ASSERT_TRUE(choice.ok()) << choice.status();
    EXPECT_EQ(choice->memory_sharers, 1u);
    EXPECT_THAT(choice->warnings, IsEmpty());
  }
}

TEST_F(DeviceChoiceTest, InstancesThatAreNotToldShareNothing) {
  Play(
      "gpu uuid=GPU-1 memory_mib=81559 mig=on places=7\n"
      "mig gpu=0 place=0 uuid=MIG-a gi=1 ci=0\n"
      "mig gpu=0 place=1 uuid=MIG-b gi=2 ci=0\n"
      "code call=nvmlDeviceGetGpuInstanceId code=3\n");
  const absl::StatusOr<DeviceChoice> choice = ChooseText("MIG-a");
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->memory_sharers, 1u);
  EXPECT_THAT(choice->warnings, IsEmpty());
}

TEST(CheckVisibleTest, OneDeviceWithThatUuidPasses) {
  DeviceChoice choice;
  choice.uuid = kFirstMig;
  const std::string bare = std::string(kFirstMig).substr(4);
  EXPECT_TRUE(CheckVisible(choice, {kFirstMig}, {}).ok());
  EXPECT_TRUE(CheckVisible(choice, {"GPU-" + bare}, {}).ok());
  EXPECT_TRUE(CheckVisible(choice, {bare}, {}).ok());
}

TEST(CheckVisibleTest, OtherDevicesAreToldWithWhatNvmlSees) {
  DeviceChoice choice;
  choice.uuid = kFirstMig;
  const absl::Status none = CheckVisible(choice, {}, {});
  EXPECT_EQ(none.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(none.message(), HasSubstr("got no device; NVML sees: no GPU"));
  const absl::Status other = CheckVisible(choice, {kSecondMig}, {});
  EXPECT_THAT(other.message(), HasSubstr(kSecondMig));
  EXPECT_FALSE(CheckVisible(choice, {kFirstMig, kSecondMig}, {}).ok());
}

TEST(DescribeChoiceTest, AbsentFactsAreLeftOut) {
  DeviceChoice choice;
  choice.uuid = "GPU-1";
  EXPECT_EQ(Describe(choice), "uuid=GPU-1");
}

TEST(DeviceChoiceMigTest, GpuThatDoesNotTellOfMigIsNotTakenWhole) {
  Gpu gpu;
  gpu.uuid = "GPU-aaaaaaaa-0000-1111-2222-333333333333";
  gpu.is_mig_unread = true;
  Devices devices;
  devices.gpus = {gpu};
  for (const char* text : {"cuda:0", "only"}) {
    const auto selector = ParseDevice(text);
    ASSERT_TRUE(selector.ok());
    const auto choice = Choose(*selector, devices);
    EXPECT_EQ(choice.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(choice.status().message()),
                ::testing::HasSubstr("NVML does not tell"));
  }
}

}  // namespace
}  // namespace ferry::nvml

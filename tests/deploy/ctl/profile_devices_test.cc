// Tests what `ferryctl profile` says of a server on synthetic machines: the
// fake libnvidia-ml.so.1 plays the device, the server's own code writes the
// page of its metrics, and the answers stand here whole.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "deploy/ctl/metrics_reading.h"
#include "deploy/ctl/profile_answer.h"
#include "models/nvml/device_choice.h"
#include "models/nvml/device_sampler.h"
#include "models/nvml/devices.h"
#include "models/nvml/gpm_sampler.h"
#include "models/nvml/library.h"
#include "server/metrics/device_metrics.h"
#include "server/metrics/metrics.h"
#include "tests/support/fake_clock.h"

namespace ferry::ctl {
namespace {

constexpr Duration kPatience = std::chrono::seconds(20);
constexpr int kPeriods = 40;
constexpr char kDriver[] = "driver version=580.95.05\n";
// GPM: 2 is multiprocessors, 10 is DRAM.
constexpr char kGpu[] =
    "gpu uuid=GPU-aa name=NVIDIA_H200 bus=00000000:1B:00.0 memory_mib=143771 "
    "places=7 power_mw=350500 gpm.2=62.5 gpm.10=30 used_mib=71885.5 ";
// What the slice that the server is on tells, and what others do.
constexpr char kIts[] = " used_mib=12288 gpm.2=45 gpm.10=20\n";
constexpr char kOthers[] = " used_mib=4096 gpm.2=10 gpm.10=5\n";

constexpr char kBegin[] =
    R"('consolidate': load was 30.0 % on average (s0-target).

recording: page, 40 samples, one in 1 s, 0.01111 hours
policy: s0-target, the same article's targets; the bands between are Ferry's

signal      mean   p50    p95    peak   samples
load %      30.0   30.0   30.0   30.0        40
busy %      90.0   90.0   90.0   90.0        40
)";
constexpr char kFindings[] =
    "warning: load of 30.0 % is 'consolidate' by s0-target: fewer devices "
    "carry "
    "this: put models together, or take a slice\n"
    "note: by the same bands busy, 90.0 %, would be 'scale_out'; it says that "
    "something ran, not how much\n";
constexpr char kSm45[] = "sm %        45.0   45.0   45.0   45.0        40\n";
constexpr char kMemory75[] =
    "memory %    75.0   75.0   75.0   75.0        40\n";
constexpr char kDram20[] = "dram %      20.0   20.0   20.0   20.0        40\n";
// Power is that of the whole GPU.
constexpr char kEnd[] =
    R"(power W     350.5  350.5  350.5  350.5       40
requests/s  30.0   30.0   30.0   30.0        40
)";

std::string Gpu(const std::string& more) {
  return absl::StrCat(kDriver, kGpu, more, "\n");
}

std::string Slice(int place, const std::string& profile, int instance,
                  const std::string& tells) {
  return absl::StrCat("mig gpu=0 place=", place, " uuid=MIG-", place,
                      " name=NVIDIA_H200_MIG_", profile, " gi=", instance,
                      " ci=0 sms=16 slices=1 memory_mib=16384", tells);
}

// A page of the server's models: 60 rows/s of 200, and 90 % busy.
std::string Models(int seconds) {
  constexpr char kModel[] = R"({model="m",version="1")";
  return absl::StrCat("ferry_capacity_rows_per_second", kModel, "} 200\n",  //
                      "ferry_instances", kModel, "} 1\n",                   //
                      "ferry_arrived_rows_total", kModel, "} ", 60 * seconds,
                      "\n", "ferry_compute_busy_seconds_total", kModel,
                      ",model_instance=\"0\"} ", 0.9 * seconds, "\n",  //
                      "ferry_requests_total", kModel, ",code=\"OK\"} ",
                      30 * seconds, "\n", "process_start_time_seconds 1\n");
}

// Returns what the profile of a server on that device of the machine says.
// `reads`: how often it was read before.
std::string Profile(const std::string& machine, const std::string& text,
                    int reads = 1) {
  const std::string path =
      ::testing::TempDir() + "profile." + std::to_string(getpid());
  std::ofstream(path) << machine;
  setenv("FERRY_FAKE_NVML", path.c_str(), 1);
  auto library = nvml::Library::Open(FERRY_FAKE_NVML_FILE);
  std::filesystem::remove(path);
  EXPECT_TRUE(library.ok()) << library.status();
  const auto devices = nvml::ListDevices(**library);
  EXPECT_TRUE(devices.ok()) << devices.status();
  const auto choice =
      nvml::Choose(*nvml::ParseDevice(text), *devices, std::nullopt);
  EXPECT_TRUE(choice.ok()) << choice.status();
  FakeClock clock;
  auto sampler = nvml::DeviceSampler::Create(**library, choice->uuid, clock);
  EXPECT_TRUE(sampler.ok()) << sampler.status();
  DeviceMetrics metrics(**library, *choice,
                        [&sampler] { return (*sampler)->Read(); });
  for (int i = 0; i < reads; ++i) {
    metrics.Refresh(kPatience);
  }
  // GPM's means are those of the time between two reads.
  clock.Advance(2 * nvml::GpmSampler::kMinInterval);
  metrics.Refresh(kPatience);
  const std::string page = ToPrometheusText(metrics.Collect());
  const auto page_at = [&page](int second) {
    auto reading = ReadMetrics(absl::StrCat(Models(second), page),
                               TimePoint() + std::chrono::seconds(second));
    return reading.ok() ? std::optional(*reading) : std::nullopt;
  };
  PageRecorder recorder(page_at(0), 1, {});
  for (int second = 1; second <= kPeriods; ++second) {
    recorder.Add(page_at(second));
  }
  plan::Recording recording = recorder.recording();
  EXPECT_TRUE(plan::LeaveOutUnknown(recording, "page").ok());
  const auto answer = ProfileAnswer(recording, {.source = "page"});
  return answer.ok() ? AnswerText(*answer)
                     : std::string(answer.status().message());
}

TEST(ProfileDevicesTest, SevenSlicesWithHoles) {
  std::string machine = Gpu("mig=on gpm=yes");
  for (const int place : {0, 1, 3, 4, 6, 7, 9}) {
    absl::StrAppend(&machine, Slice(place, "1g.18gb", 7 + place,
                                    place == 6 ? kIts : kOthers));
  }
  EXPECT_EQ(Profile(machine, "MIG-6"),
            absl::StrCat(kBegin, kSm45, kMemory75, kDram20, kEnd, kFindings));
}

TEST(ProfileDevicesTest, MixedLayout) {
  EXPECT_EQ(Profile(Gpu("mig=on gpm=yes") + Slice(0, "1g.18gb", 7, kOthers) +
                        Slice(2, "2g.35gb", 3, kIts) +
                        Slice(6, "3g.71gb", 1, kOthers),
                    "MIG-2"),
            absl::StrCat(kBegin, kSm45, kMemory75, kDram20, kEnd, kFindings));
}

TEST(ProfileDevicesTest, MigOff) {
  EXPECT_EQ(Profile(Gpu("mig=off gpm=yes busy=95 memory_busy=10"), "cuda:0"),
            absl::StrCat(kBegin,
                         "sm %        62.5   62.5   62.5   62.5        40\n"
                         "memory %    50.0   50.0   50.0   50.0        40\n"
                         "dram %      30.0   30.0   30.0   30.0        40\n",
                         kEnd, kFindings));
}

// GPM's shares are those of the GPU instance, memory is of the device.
TEST(ProfileDevicesTest, TwoComputeInstancesOfOneGpuInstance) {
  EXPECT_EQ(Profile(Gpu("mig=on gpm=yes") +
                        Slice(0, "1c.3g.71gb", 1,
                              " used_mib=4096 gpm.2=45 gpm.10=20\n") +
                        Slice(1, "1c.3g.71gb", 1, kIts),
                    "MIG-1"),
            absl::StrCat(kBegin, kSm45, kMemory75, kDram20, kEnd, kFindings));
}

TEST(ProfileDevicesTest, LostDriver) {
  EXPECT_EQ(
      Profile(Gpu("mig=off gpm=yes") + "lost after=60 code=15\n", "cuda:0", 20),
      absl::StrCat(R"('consolidate': load was 30.0 % on average (s0-target).

recording: page, 40 samples, one in 1 s, 0.01111 hours
policy: s0-target, the same article's targets; the bands between are Ferry's

signal      mean  p50   p95   peak  samples
load %      30.0  30.0  30.0  30.0       40
busy %      90.0  90.0  90.0  90.0       40
requests/s  30.0  30.0  30.0  30.0       40
)",
                   kFindings));
}

TEST(ProfileDevicesTest, NoGpm) {
  EXPECT_EQ(
      Profile(Gpu("mig=on gpm=no") + Slice(0, "1g.18gb", 7, kIts), "MIG-0"),
      absl::StrCat(kBegin, kMemory75, kEnd, kFindings));
}

TEST(ProfileDevicesTest, PermissionDenied) {
  std::string machine = Gpu("mig=on gpm=yes") + Slice(0, "1g.18gb", 7, kIts);
  for (const char* call :
       {"nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetMemoryInfo",
        "nvmlGpmMigSampleGet", "nvmlGpmSampleGet"}) {
    absl::StrAppend(&machine, "code call=", call, " code=4\n");
  }
  EXPECT_EQ(Profile(machine, "MIG-0"), absl::StrCat(kBegin, kEnd, kFindings));
}

}  // namespace
}  // namespace ferry::ctl

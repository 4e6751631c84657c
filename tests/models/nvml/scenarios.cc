// Implements the machines, and starts the fake library behind them.
#include "tests/models/nvml/scenarios.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"

namespace ferry::nvml {

std::string WholeGpu() {
  return absl::StrCat(
      "driver version=580.95.05\n"
      "gpu uuid=",
      kGpuUuid,
      " name=NVIDIA_H100 bus=00000000:1B:00.0 memory_mib=81559 mig=off gpm=yes"
      " reserved_mib=500 used_mib=1000,2000 power_mw=350500 limit_mw=700000"
      " energy_mj=5000,6500 celsius=45 sm_mhz=1980 memory_mhz=2619 busy=50"
      " memory_busy=25 gpm.1=90 gpm.2=80,40 gpm.3=30 gpm.5=20 gpm.7=15"
      " gpm.10=60 gpm.20=100 gpm.21=200\n");
}

std::string MixedMig() {
  return absl::StrCat(
      "gpu uuid=", kGpuUuid,
      " name=NVIDIA_H200 bus=00000000:1B:00.0 memory_mib=143771 mig=on places=7"
      " gpm=yes power_mw=500000 celsius=60 sm_mhz=1500 gpm.2=99\n"
      "gpu uuid=",
      kOtherGpuUuid,
      " name=NVIDIA_H200 bus=00000001:AB:00.0 memory_mib=143771 mig=off\n"
      "mig gpu=0 place=0 uuid=",
      kFirstMig,
      " name=NVIDIA_H200_MIG_1g.18gb gi=9 ci=0 sms=16 slices=1"
      " memory_mib=16384 used_mib=100 gpm.2=75 gpm.10=50\n"
      "mig gpu=0 place=2 uuid=",
      kSecondMig,
      " name=NVIDIA_H200_MIG_2g.35gb gi=5 ci=0 sms=32 slices=2"
      " memory_mib=33792\n"
      "mig gpu=0 place=6 uuid=",
      kThirdMig,
      " name=NVIDIA_H200_MIG_1c.3g.71gb gi=1 ci=2 sms=16 slices=3"
      " compute_slices=1 memory_mib=71424\n");
}

std::string SevenSlices() {
  std::string text = absl::StrCat(
      "gpu uuid=", kGpuUuid,
      " name=NVIDIA_H200 memory_mib=143771 mig=on places=7 gpm=yes\n");
  for (int place = 0; place < 7; ++place) {
    absl::StrAppend(&text, "mig gpu=0 place=", place, " uuid=MIG-", place,
                    "0000000-aaaa-bbbb-cccc-dddddddddddd"
                    " name=NVIDIA_H200_MIG_1g.18gb gi=",
                    7 + place, " ci=0 sms=16 slices=1 memory_mib=16384\n");
  }
  return text;
}

absl::StatusOr<std::unique_ptr<Library>> StartFake(
    const std::string& scenario, std::set<std::string> missing) {
  const std::string path =
      absl::StrCat(::testing::TempDir(), "nvml_scenario.", getpid());
  std::ofstream(path) << scenario;
  setenv("FERRY_FAKE_NVML", path.c_str(), /*overwrite=*/1);
  void* const handle = dlopen(FERRY_FAKE_NVML_FILE, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(handle, nullptr) << dlerror();
  auto library = Library::Start(
      [handle, missing = std::move(missing)](const char* name) -> void* {
        return missing.count(name) > 0 ? nullptr : dlsym(handle, name);
      });
  unlink(path.c_str());
  return library;
}

uint64_t CountOf(const Library& library, const std::string& call, Code code) {
  uint64_t count = 0;
  for (const CallCount& entry : library.calls()) {
    if (entry.call == call && entry.code == code) {
      count += entry.count;
    }
  }
  return count;
}

}  // namespace ferry::nvml

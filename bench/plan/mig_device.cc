// Implements MigDevice: the tables of profiles, and the search for layouts.
//
// Sources. Names, counts and slices: NVIDIA's MIG User Guide, "Supported MIG
// Profiles", and NVIDIA/mig-parted, pkg/mig/builder/builder_test.go.
// Placements: `nvidia-smi mig -lgipp` as printed for A100 and H100, and
// NVIDIA/k8s-test-infra, profiles/mig/{a100,h100,b200}.yaml. NVIDIA/go-nvml's
// mock agrees for A100; for H100, H200 and B200 it has 3 memory slices for 3g,
// 7 for 7g and 1 for the 1g of twice the memory, which contradicts the counts
// and eighths of the guide.
//
// Numbers of SMs and MiB: A100-40GB and B200 of go-nvml v0.13.4-1,
// pkg/nvml/mock/gpus (B200's memory of k8s-test-infra, which is less); the
// others as `nvidia-smi mig -lgip` prints them on devices, the least where
// prints differ. That is less memory than the mock has and, on H100 and H200,
// more SMs of 3g, 7g and the 1g of twice the memory. No print of 4g.71gb was at
// hand: it has the memory of 3g.71gb in all tables.
#include "bench/plan/mig_device.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ferry::plan {
namespace {

constexpr std::array<MigShape, kMigProfiles> kShapes = {{
    {1, 1, 7, 0b0111'1111},  // 1g
    {1, 1, 1, 0b0111'1111},  // 1g with the media engines
    {1, 2, 4, 0b0101'0101},  // 1g of twice the memory
    {2, 2, 3, 0b0001'0101},
    {3, 4, 2, 0b0001'0001},
    {4, 4, 1, 0b0000'0001},
    {7, 8, 1, 0b0000'0001},
}};

constexpr MigDevice kDevices[] = {
    {"A100-40GB",
     "",
     "NVIDIA's tables",
     108,
     40960,
     {{{"1g.5gb", 14, 4864},
       {"1g.5gb+me", 14, 4864},
       {"1g.10gb", 14, 9856},
       {"2g.10gb", 28, 9856},
       {"3g.20gb", 42, 19968},
       {"4g.20gb", 56, 19968},
       {"7g.40gb", 98, 40192}}}},
    {"A100-80GB",
     "",
     "NVIDIA's tables",
     108,
     81920,
     {{{"1g.10gb", 14, 9728},
       {"1g.10gb+me", 14, 9728},
       {"1g.20gb", 14, 19968},
       {"2g.20gb", 28, 19968},
       {"3g.40gb", 42, 40192},
       {"4g.40gb", 56, 40192},
       {"7g.80gb", 98, 80384}}}},
    {"H100-80GB",
     "H100",
     "NVIDIA's tables; SMs and memory as SXM5 devices print them",
     132,
     81559,
     {{{"1g.10gb", 16, 9984},
       {"1g.10gb+me", 16, 9984},
       {"1g.20gb", 26, 20096},
       {"2g.20gb", 32, 20096},
       {"3g.40gb", 60, 40448},
       {"4g.40gb", 64, 40448},
       {"7g.80gb", 132, 81152}}}},
    {"H200-141GB",
     "H200",
     "NVIDIA's tables; SMs and memory as devices print them",
     132,
     143771,
     {{{"1g.18gb", 16, 16384},
       {"1g.18gb+me", 16, 16384},
       {"1g.35gb", 26, 33280},
       {"2g.35gb", 32, 33280},
       {"3g.71gb", 60, 71424},
       {"4g.71gb", 64, 71424},
       {"7g.141gb", 132, 143360}}}},
    {"B200-180GB",
     "B200",
     "NVIDIA's tables; no device has confirmed SMs and memory",
     148,
     184320,
     {{{"1g.23gb", 18, 23040},
       {"1g.23gb+me", 18, 23040},
       {"1g.45gb", 18, 46080},
       {"2g.45gb", 36, 46080},
       {"3g.90gb", 54, 92160},
       {"4g.90gb", 72, 92160},
       {"7g.180gb", 126, 184320}}}},
};

// A device that is partly divided.
struct Divided {
  MigCounts counts = {};
  unsigned taken = 0;  // bit n: memory slice n

  bool operator<(const Divided& other) const {
    return std::pair(counts, taken) < std::pair(other.counts, other.taken);
  }
};

// Adds what comes of one more slice, and so on; `seen` has `divided`.
void AddFurther(const Divided& divided, std::set<Divided>& seen) {
  for (size_t profile = 0; profile < kMigProfiles; ++profile) {
    const MigShape& shape = kShapes[profile];
    Divided next = divided;
    if (++next.counts[profile] > shape.max_count ||
        ComputeSlices(next.counts) > kComputeSlices) {
      continue;
    }
    for (int start = 0; start < kMemorySlices; ++start) {
      const unsigned place = ((1U << shape.memory_slices) - 1) << start;
      if ((shape.starts >> start & 1U) == 0 || (divided.taken & place) != 0) {
        continue;
      }
      next.taken = divided.taken | place;
      if (seen.insert(next).second) {
        AddFurther(next, seen);
      }
    }
  }
}

std::vector<MigCounts> FindLayouts() {
  std::set<Divided> seen;
  AddFurther(Divided(), seen);
  std::set<MigCounts> distinct;
  for (const Divided& divided : seen) {
    distinct.insert(divided.counts);
  }
  std::vector<MigCounts> layouts(distinct.rbegin(), distinct.rend());
  std::stable_sort(layouts.begin(), layouts.end(),
                   [](const MigCounts& a, const MigCounts& b) {
                     return ComputeSlices(a) > ComputeSlices(b);
                   });
  return layouts;
}

absl::Status Refuse(const std::string& expected, const std::string& found) {
  return absl::InvalidArgumentError(
      absl::StrCat("layout: expected ", expected, ", got ", found));
}

absl::StatusOr<MigCounts> CountsOf(const MigDevice& device,
                                   const std::vector<std::string>& names) {
  MigCounts counts = {};
  for (const std::string& name : names) {
    const auto found = std::find_if(
        device.profiles.begin(), device.profiles.end(),
        [&](const MigProfile& profile) { return profile.name == name; });
    if (found == device.profiles.end()) {
      return Refuse(absl::StrCat("profiles of ", device.name, " (",
                                 ProfileNames(device), ")"),
                    absl::StrCat("'", name, "'"));
    }
    ++counts[static_cast<size_t>(found - device.profiles.begin())];
  }
  return counts;
}

// Returns why a layout that is not legal is not. All that keep the counts and
// both sums have a place on the devices here, as a test checks.
absl::Status WhyNot(const MigDevice& device, const MigCounts& counts) {
  for (size_t profile = 0; profile < kMigProfiles; ++profile) {
    if (counts[profile] > kShapes[profile].max_count) {
      return Refuse(
          absl::StrCat("at most ", kShapes[profile].max_count, " of ",
                       device.profiles[profile].name, " on one ", device.name),
          absl::StrCat(counts[profile]));
    }
  }
  const std::string layout = LayoutText(device, counts);
  if (ComputeSlices(counts) > kComputeSlices) {
    return Refuse(absl::StrCat("at most ", kComputeSlices, " compute slices"),
                  absl::StrCat(ComputeSlices(counts), ": ", layout));
  }
  return Refuse(absl::StrCat("at most ", kMemorySlices, " memory slices"),
                absl::StrCat(MemorySlices(counts), ": ", layout));
}

}  // namespace

const std::array<MigShape, kMigProfiles>& MigShapes() { return kShapes; }

absl::Span<const MigDevice> MigDevices() { return kDevices; }

absl::StatusOr<MigDevice> FindMigDevice(const std::string& name) {
  for (const MigDevice& device : kDevices) {
    if (!name.empty() && (name == device.name || name == device.alias)) {
      return device;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("device: expected one of ",
                   absl::StrJoin(kDevices, ", ",
                                 [](std::string* out, const MigDevice& device) {
                                   out->append(device.name);
                                 }),
                   ", got '", name, "'"));
}

int ComputeSlices(const MigCounts& counts) {
  int sum = 0;
  for (size_t profile = 0; profile < kMigProfiles; ++profile) {
    sum += counts[profile] * kShapes[profile].compute_slices;
  }
  return sum;
}

int MemorySlices(const MigCounts& counts) {
  int sum = 0;
  for (size_t profile = 0; profile < kMigProfiles; ++profile) {
    sum += counts[profile] * kShapes[profile].memory_slices;
  }
  return sum;
}

int64_t SmsOf(const MigDevice& device, const MigCounts& counts) {
  int64_t sum = 0;
  for (size_t profile = 0; profile < kMigProfiles; ++profile) {
    sum += counts[profile] * device.profiles[profile].sms;
  }
  return sum;
}

const std::vector<MigCounts>& LegalLayouts() {
  static const auto& layouts = *new std::vector<MigCounts>(FindLayouts());
  return layouts;
}

absl::StatusOr<MigCounts> CheckLayout(const MigDevice& device,
                                      const std::vector<std::string>& names) {
  if (names.empty()) {
    return Refuse("the profiles of one device", "none");
  }
  const auto counts = CountsOf(device, names);
  if (!counts.ok()) {
    return counts.status();
  }
  const std::vector<MigCounts>& legal = LegalLayouts();
  if (std::find(legal.begin(), legal.end(), *counts) == legal.end()) {
    return WhyNot(device, *counts);
  }
  return counts;
}

std::string LayoutText(const MigDevice& device, const MigCounts& counts) {
  std::vector<std::string> parts;
  for (size_t profile = kMigProfiles; profile-- > 0;) {
    const std::string name = device.profiles[profile].name;
    if (counts[profile] > 0) {
      parts.push_back(counts[profile] == 1
                          ? name
                          : absl::StrCat(counts[profile], " x ", name));
    }
  }
  return absl::StrJoin(parts, " + ");
}

std::string ProfileNames(const MigDevice& device) {
  return absl::StrJoin(device.profiles, ", ",
                       [](std::string* out, const MigProfile& profile) {
                         out->append(profile.name);
                       });
}

}  // namespace ferry::plan

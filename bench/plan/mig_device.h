// MigDevice describes a GPU that MIG divides: its profiles, and, by
// LegalLayouts(), which of them may share one device.
//
// All devices here are divided alike: into 7 compute slices and 8 memory
// slices. A profile takes some of each, and its memory begins at certain memory
// slices alone, which is why less fits side by side than sums would allow.
//
// Thread safety: constants, and free functions over values.
// Errors: INVALID_ARGUMENT, with what was expected and what was found.
#ifndef FERRY_BENCH_PLAN_MIG_DEVICE_H_
#define FERRY_BENCH_PLAN_MIG_DEVICE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace ferry::plan {

inline constexpr size_t kMigProfiles = 7;
inline constexpr int kComputeSlices = 7;
inline constexpr int kMemorySlices = 8;

// What profiles take on every device here, and where they begin.
struct MigShape {
  int compute_slices = 0;
  int memory_slices = 0;
  int max_count = 0;    // on one device
  unsigned starts = 0;  // bit n: may begin at memory slice n
};

// Returns the shape of each profile of MigDevice::profiles, smallest first.
const std::array<MigShape, kMigProfiles>& MigShapes();

struct MigProfile {
  const char* name;  // "1g.18gb"
  int64_t sms = 0;
  int64_t memory_mib = 0;
};

struct MigDevice {
  const char* name;
  const char* alias;   // another name, where no other device has it; or ""
  const char* source;  // where the numbers are from
  int64_t sms = 0;     // all of them, without MIG
  int64_t memory_mib = 0;
  std::array<MigProfile, kMigProfiles> profiles;
};

absl::Span<const MigDevice> MigDevices();

// Returns the device of that name or alias.
absl::StatusOr<MigDevice> FindMigDevice(const std::string& name);

// How many slices of each profile.
using MigCounts = std::array<int, kMigProfiles>;

int ComputeSlices(const MigCounts& counts);
int MemorySlices(const MigCounts& counts);
int64_t SmsOf(const MigDevice& device, const MigCounts& counts);

// Returns every layout of one device that placements permit, but the empty
// one; those with the most compute slices first.
const std::vector<MigCounts>& LegalLayouts();

// Returns the counts of a layout of one device, given by the names of its
// profiles; says what cannot exist, and why.
absl::StatusOr<MigCounts> CheckLayout(const MigDevice& device,
                                      const std::vector<std::string>& names);

// Returns "3g.71gb + 2 x 1g.18gb".
std::string LayoutText(const MigDevice& device, const MigCounts& counts);

// Returns the names of the device's profiles: "1g.18gb, 1g.18gb+me, ..".
std::string ProfileNames(const MigDevice& device);

}  // namespace ferry::plan

#endif  // FERRY_BENCH_PLAN_MIG_DEVICE_H_

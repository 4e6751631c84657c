// PackMig() says how few devices carry several models in MIG slices of their
// own; PlanShared...() say how many do without MIG, in one process or by MPS.
//
// A rate is what was measured within the SLO, of that model on that profile.
// None is derived from another: a profile without a measured rate is not used.
//
// Thread safety: free functions over values.
// Errors: INVALID_ARGUMENT for input that makes no sense, FAILED_PRECONDITION
// where a rate that it needs was not measured or no number of devices will do;
// with what was expected and what was found.
#ifndef FERRY_BENCH_PLAN_MIG_PLAN_H_
#define FERRY_BENCH_PLAN_MIG_PLAN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/plan/mig_device.h"

namespace ferry::plan {

inline constexpr size_t kMaxMigModels = 16;
inline constexpr int kMaxMigDevices = 8;

struct MigModel {
  std::string name;  // letters, digits, '.', '_', '-'
  // requests/s; from those of a day: requests_per_day / 86400 * peak_factor.
  double peak_rate = 0;
  double memory_mib = 0;  // at its peak, of one process that serves it
  // requests/s within the SLO, as measured; 0: not measured.
  std::array<double, kMigProfiles> rates{};  // of one slice of each profile
  double whole_rate = 0;                     // of the whole device, without MIG
  double mps_rate = 0;                       // of the whole device, by MPS
};

struct MigModelFile {
  std::string source;  // where the rates are from
  std::vector<MigModel> models;
};

// Reads {"device", "source", "models": [{"name", "peak_rate" or
// "requests_per_day" and "peak_factor", "memory_mib", "rate": {"1g.18gb": ..,
// "whole": .., "mps": ..}}, ..]}; `name` is for messages. Refuses unknown keys,
// two models of one name, and rates of another device.
absl::StatusOr<MigModelFile> ParseMigModels(const std::string& text,
                                            const std::string& name,
                                            const MigDevice& device);

struct MigSlice {
  int64_t device = 0;  // from 0
  size_t profile = 0;
  std::optional<size_t> model;  // by its index; nothing: a slice left over
};

struct MigPacking {
  int64_t devices = 0;
  std::vector<MigSlice> slices;  // by device, the largest first
  int64_t sms_held = 0;
};

// Returns the fewest devices, and of those packings one with the fewest SMs,
// such that the slices of each model hold its memory and carry its peak with
// that headroom, (0, 1]. A slice serves one model. `layout`: of every device,
// in place of all legal ones. REQUIRES: a model, at most kMaxMigModels.
absl::StatusOr<MigPacking> PackMig(const MigDevice& device,
                                   const std::vector<MigModel>& models,
                                   double headroom,
                                   const std::optional<MigCounts>& layout);

enum class SharedBy : uint8_t { kOneProcess, kMps };

struct SharedPlan {
  int64_t devices = 0;
  double devices_used = 0;  // kDevicesUsed
};

// Returns how many whole devices carry all models, each of which has all of
// them, by whole_rate or mps_rate.
absl::StatusOr<SharedPlan> PlanSharedDevices(
    const MigDevice& device, const std::vector<MigModel>& models,
    double headroom, SharedBy shared_by);

}  // namespace ferry::plan

#endif  // FERRY_BENCH_PLAN_MIG_PLAN_H_

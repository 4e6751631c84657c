// Implements PackMig(): an exact search for the fewest devices, and then for
// the fewest SMs.
//
// For one device, two, and so on: each model has its ways, the sets of slices
// that carry its peak and of which none can be left out; the sums of one way of
// each model are what the devices have to hold; those sums are tried from the
// fewest SMs on. A slice that can be left out helps no packing, so the search
// is exact, for at most kMaxMigDevices devices. It ends with an error where
// there is too much to try, and gives the same answer each time.
#include "bench/plan/mig_plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bench/plan/number_check.h"

namespace ferry::plan {
namespace {

constexpr size_t kMaxWays = 20'000;   // of one model
constexpr size_t kMaxSums = 100'000;  // of all models
constexpr double kMaxTries = 2e7;     // sums * ways, of all models

using Ways = std::vector<MigCounts>;

// What devices may hold, all together.
struct Room {
  MigCounts most = {};  // of each profile
  int compute_slices = 0;
  int memory_slices = 0;
};

bool Holds(const Room& room, const MigCounts& counts) {
  for (size_t profile = 0; profile < kMigProfiles; ++profile) {
    if (counts[profile] > room.most[profile]) {
      return false;
    }
  }
  return ComputeSlices(counts) <= room.compute_slices &&
         MemorySlices(counts) <= room.memory_slices;
}

Room RoomOf(int devices, const std::optional<MigCounts>& layout) {
  Room room = {.most = {},
               .compute_slices = devices * kComputeSlices,
               .memory_slices = devices * kMemorySlices};
  for (size_t profile = 0; profile < kMigProfiles; ++profile) {
    const int of_one = layout.has_value() ? (*layout)[profile]
                                          : MigShapes()[profile].max_count;
    room.most[profile] = devices * of_one;
  }
  return room;
}

// What slices have to carry of one model.
struct Need {
  double rate = 0;  // requests/s, headroom included
  // Measured, of the profiles whose memory holds it; 0 of the others.
  std::array<double, kMigProfiles> rates{};
  double best_of_slice = 0;  // the most that a compute slice gives
};

// A set of slices while it is put together, profile by profile.
struct Partial {
  size_t profile = 0;  // from here on more may be added
  MigCounts counts = {};
  double rate = 0;
};

bool CanLoseOne(const Need& need, const Partial& way) {
  for (size_t profile = 0; profile < kMigProfiles; ++profile) {
    if (way.counts[profile] > 0 &&
        way.rate - need.rates[profile] >= need.rate) {
      return true;
    }
  }
  return false;
}

void AddWays(const Need& need, const Room& room, const Partial& way,
             Ways& ways) {
  if (way.rate >= need.rate) {
    if (!CanLoseOne(need, way)) {
      ways.push_back(way.counts);
    }
    return;
  }
  const double most =
      way.rate +
      need.best_of_slice * (room.compute_slices - ComputeSlices(way.counts));
  if (way.profile == kMigProfiles || ways.size() > kMaxWays ||
      most < need.rate) {
    return;
  }
  Partial next = way;
  ++next.profile;
  AddWays(need, room, next, ways);
  if (need.rates[way.profile] == 0) {
    return;
  }
  next = way;
  ++next.counts[way.profile];
  next.rate += need.rates[way.profile];
  if (Holds(room, next.counts)) {
    AddWays(need, room, next, ways);
  }
}

absl::Status TooMuch() {
  return absl::FailedPreconditionError(
      "models: expected fewer ways to divide the devices than there are: give "
      "rates of fewer profiles, or plan the models in groups");
}

// Returns compute slices that no way of the model does without.
int LeastSlices(const Need& need) {
  constexpr double kTooMany = 1e6;
  return static_cast<int>(
      std::min(kTooMany, std::ceil(need.rate / need.best_of_slice)));
}

MigCounts Sum(const MigCounts& a, const MigCounts& b) {
  MigCounts sum = a;
  for (size_t profile = 0; profile < kMigProfiles; ++profile) {
    sum[profile] += b[profile];
  }
  return sum;
}

// The slices of all models, to the way of each that makes them.
using Sums = std::map<MigCounts, std::vector<MigCounts>>;

// Returns every sum of one way of each model that `room` may hold.
absl::StatusOr<Sums> SumsOfWays(const std::vector<Need>& needs, Room room) {
  // Models leave each other the slices that they cannot do without.
  int spare = room.compute_slices;
  for (const Need& need : needs) {
    spare -= LeastSlices(need);
  }
  if (spare < 0) {
    return Sums();
  }
  Sums sums = {{MigCounts{}, {}}};
  int least = 0;
  for (const Need& need : needs) {
    room.compute_slices = LeastSlices(need) + spare;
    Ways ways;
    AddWays(need, room, Partial(), ways);
    if (ways.size() > kMaxWays ||
        static_cast<double>(sums.size()) * static_cast<double>(ways.size()) >
            kMaxTries) {
      return TooMuch();
    }
    least += LeastSlices(need);
    room.compute_slices = least + spare;
    Sums next;
    for (const auto& [counts, chosen] : sums) {
      for (const MigCounts& way : ways) {
        const MigCounts sum = Sum(counts, way);
        if (Holds(room, sum) && next.count(sum) == 0) {
          next[sum] = chosen;
          next[sum].push_back(way);
        }
      }
    }
    if (next.size() > kMaxSums) {
      return TooMuch();
    }
    sums = std::move(next);
  }
  return sums;
}

// What is known not to fit on that many devices.
using Failed = std::set<std::pair<MigCounts, int>>;

// Puts slices on devices, of which each gets one legal layout; some device has
// one of the largest profile that is left, so the next one may be that.
bool FindLayouts(const MigCounts& left, int devices, Failed& failed,
                 std::vector<MigCounts>& layouts) {
  const auto largest =
      std::find_if(left.rbegin(), left.rend(), [](int n) { return n > 0; });
  if (largest == left.rend()) {
    return true;
  }
  if (devices == 0 || !Holds(RoomOf(devices, std::nullopt), left) ||
      failed.count({left, devices}) > 0) {
    return false;
  }
  const auto profile = static_cast<size_t>(left.rend() - largest) - 1;
  for (const MigCounts& layout : LegalLayouts()) {
    MigCounts rest = left;
    bool has_all = layout[profile] > 0;
    for (size_t i = 0; i < kMigProfiles; ++i) {
      rest[i] -= layout[i];
      has_all = has_all && rest[i] >= 0;
    }
    if (!has_all) {
      continue;
    }
    layouts.push_back(layout);
    if (FindLayouts(rest, devices - 1, failed, layouts)) {
      return true;
    }
    layouts.pop_back();
  }
  failed.insert({left, devices});
  return false;
}

// Gives each slice of the layouts to the first model whose way wants it.
MigPacking Assign(const MigDevice& device,
                  const std::vector<MigCounts>& layouts, Ways wanted) {
  MigPacking packing;
  packing.devices = static_cast<int64_t>(layouts.size());
  for (size_t i = 0; i < layouts.size(); ++i) {
    packing.sms_held += SmsOf(device, layouts[i]);
    for (size_t profile = kMigProfiles; profile-- > 0;) {
      for (int n = 0; n < layouts[i][profile]; ++n) {
        const auto taker = std::find_if(
            wanted.begin(), wanted.end(),
            [&](const MigCounts& way) { return way[profile] > 0; });
        MigSlice slice = {.device = static_cast<int64_t>(i),
                          .profile = profile,
                          .model = std::nullopt};
        if (taker != wanted.end()) {
          --(*taker)[profile];
          slice.model = static_cast<size_t>(taker - wanted.begin());
        }
        packing.slices.push_back(slice);
      }
    }
  }
  return packing;
}

// Returns a packing on exactly that many devices; nothing where there is none.
absl::StatusOr<std::optional<MigPacking>> PackOn(
    int devices, const MigDevice& device, const std::vector<Need>& needs,
    const std::optional<MigCounts>& layout) {
  const auto sums = SumsOfWays(needs, RoomOf(devices, layout));
  if (!sums.ok()) {
    return sums.status();
  }
  std::vector<std::pair<int64_t, MigCounts>> by_sms;
  for (const auto& sum : *sums) {
    by_sms.emplace_back(SmsOf(device, sum.first), sum.first);
  }
  std::sort(by_sms.begin(), by_sms.end());
  Failed failed;
  for (const auto& [sms, counts] : by_sms) {
    std::vector<MigCounts> layouts;
    if (layout.has_value()) {
      layouts.assign(static_cast<size_t>(devices), *layout);
    } else if (!FindLayouts(counts, devices, failed, layouts)) {
      continue;
    }
    return Assign(device, layouts, sums->at(counts));
  }
  return std::nullopt;
}

absl::StatusOr<Need> NeedOf(const MigDevice& device, const MigModel& model,
                            double headroom) {
  Need need = {.rate = model.peak_rate / headroom * (1 - kRounding),
               .rates = {}};
  std::vector<std::string> holding;
  std::vector<std::string> measured;
  bool is_known = false;
  for (size_t i = 0; i < kMigProfiles; ++i) {
    const MigProfile& profile = device.profiles[i];
    const bool holds =
        model.memory_mib <= static_cast<double>(profile.memory_mib);
    if (holds) {
      holding.emplace_back(profile.name);
      need.rates[i] = model.rates[i];
      // Sums may round down: a hair more loses no way.
      need.best_of_slice =
          std::max(need.best_of_slice,
                   model.rates[i] * (1 + 1e-9) / MigShapes()[i].compute_slices);
    }
    if (model.rates[i] > 0) {
      measured.emplace_back(profile.name);
      is_known = is_known || holds;
    }
  }
  if (is_known) {
    return need;
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "model '", model.name, "': expected a rate measured on a profile that ",
      "holds its ", model.memory_mib, " MiB (",
      holding.empty() ? "none does" : absl::StrJoin(holding, ", "),
      "), got rates of ",
      measured.empty() ? "none" : absl::StrJoin(measured, ", ")));
}

absl::Status CheckModels(const std::vector<MigModel>& models, double headroom) {
  absl::Status status = CheckHeadroom(headroom);
  if (models.empty() || models.size() > kMaxMigModels) {
    status.Update(absl::InvalidArgumentError(absl::StrCat(
        "models: expected 1 to ", kMaxMigModels, ", got ", models.size())));
  }
  for (const MigModel& model : models) {
    status.Update(CheckPositive(absl::StrCat(model.name, ": peak rate"),
                                model.peak_rate));
    status.Update(
        CheckPositive(absl::StrCat(model.name, ": memory"), model.memory_mib));
  }
  return status;
}

}  // namespace

absl::StatusOr<MigPacking> PackMig(const MigDevice& device,
                                   const std::vector<MigModel>& models,
                                   double headroom,
                                   const std::optional<MigCounts>& layout) {
  if (absl::Status status = CheckModels(models, headroom); !status.ok()) {
    return status;
  }
  std::vector<Need> needs;
  for (const MigModel& model : models) {
    auto need = NeedOf(device, model, headroom);
    if (!need.ok()) {
      return need.status();
    }
    needs.push_back(*need);
  }
  for (int devices = 1; devices <= kMaxMigDevices; ++devices) {
    auto packing = PackOn(devices, device, needs, layout);
    if (!packing.ok()) {
      return packing.status();
    }
    if (packing->has_value()) {
      return **packing;
    }
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "models: expected what at most ", kMaxMigDevices, " of ", device.name,
      layout.has_value()
          ? absl::StrCat(" divided into ", LayoutText(device, *layout))
          : "",
      " carry by the rates that were measured, got more"));
}

absl::StatusOr<SharedPlan> PlanSharedDevices(
    const MigDevice& device, const std::vector<MigModel>& models,
    double headroom, SharedBy shared_by) {
  if (absl::Status status = CheckModels(models, headroom); !status.ok()) {
    return status;
  }
  SharedPlan plan;
  double memory_mib = 0;
  for (const MigModel& model : models) {
    const bool is_mps = shared_by == SharedBy::kMps;
    const double rate = is_mps ? model.mps_rate : model.whole_rate;
    if (rate == 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("no rate of model '", model.name, "' measured ",
                       is_mps ? "by MPS" : "on the whole device"));
    }
    plan.devices_used += model.peak_rate / (rate * headroom);
    memory_mib += model.memory_mib;
  }
  if (memory_mib > static_cast<double>(device.memory_mib)) {
    return absl::FailedPreconditionError(
        absl::StrCat("all models together take ", memory_mib, " MiB of ",
                     device.memory_mib));
  }
  const double devices = CeilCount(plan.devices_used);
  if (devices > static_cast<double>(kMaxReplicas)) {
    return absl::InvalidArgumentError(
        absl::StrCat("peak rates: expected what ", kMaxReplicas,
                     " devices carry, got what takes ", devices));
  }
  plan.devices = static_cast<int64_t>(devices);
  return plan;
}

}  // namespace ferry::plan

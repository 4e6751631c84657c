// Implements Allocate().
#include "bench/plan/allocation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/plan/number_check.h"

namespace ferry::plan {
namespace {

constexpr double kSecondsPerHour = 3600;
constexpr double kCentsPerUnit = 100;

absl::Status Check(const AllocationInput& input) {
  absl::Status status = CheckPositive("hours", input.hours);
  status.Update(CheckPositive("price per hour", input.per_hour));
  for (const auto* const uses : {&input.models, &input.clients}) {
    for (const ComputeUse& use : *uses) {
      status.Update(CheckNotNegative(
          absl::StrCat("compute seconds of ", use.model), use.seconds));
    }
  }
  for (const ComputeUse& client : input.clients) {
    if (std::none_of(input.models.begin(), input.models.end(),
                     [&client](const ComputeUse& model) {
                       return model.model == client.model;
                     })) {
      status.Update(absl::InvalidArgumentError(absl::StrCat(
          "client ", client.client, ": expected a model that computed, got ",
          client.model)));
    }
  }
  return status;
}

// Appends what a model's clients had, and what none of them did.
void AddModel(const ComputeUse& model, const std::vector<ComputeUse>& clients,
              std::vector<ComputeUse>& uses) {
  double known = 0;
  for (const ComputeUse& client : clients) {
    known += client.model == model.model ? client.seconds : 0;
  }
  // Counters are read one after the other: clients may seem to have more.
  const double scale = known > model.seconds ? model.seconds / known : 1;
  for (const ComputeUse& client : clients) {
    if (client.model == model.model) {
      uses.push_back({.model = client.model,
                      .client = client.client,
                      .seconds = client.seconds * scale});
    }
  }
  const double rest = model.seconds - known * scale;
  if (known == 0 || rest > kRounding * model.seconds) {
    uses.push_back({.model = model.model, .client = "", .seconds = rest});
  }
}

// Gives each share whole cents, which are `cents` together.
void DivideCents(int64_t cents, std::vector<CostShare>& shares) {
  std::vector<double> remainders;
  int64_t given = 0;
  for (CostShare& one : shares) {
    const double exact = one.share * static_cast<double>(cents);
    one.cents = static_cast<int64_t>(std::floor(exact));
    remainders.push_back(exact - static_cast<double>(one.cents));
    given += one.cents;
  }
  std::vector<size_t> order(shares.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return remainders[a] > remainders[b];
  });
  for (size_t i = 0; i < order.size() && given < cents; ++i, ++given) {
    ++shares[order[i]].cents;
  }
}

}  // namespace

absl::StatusOr<Allocation> Allocate(const AllocationInput& input) {
  if (absl::Status status = Check(input); !status.ok()) {
    return status;
  }
  std::vector<ComputeUse> uses;
  double computed = 0;
  for (const ComputeUse& model : input.models) {
    AddModel(model, input.clients, uses);
    computed += model.seconds;
  }
  const double paid = input.hours * kSecondsPerHour;
  const double whole = std::max(paid, computed);
  uses.push_back({.model = "", .client = "", .seconds = whole - computed});
  Allocation allocation;
  allocation.cents = static_cast<int64_t>(
      std::round(input.hours * input.per_hour * kCentsPerUnit));
  allocation.idle_share = uses.back().seconds / whole;
  for (ComputeUse& use : uses) {
    const double share = use.seconds / whole;
    allocation.shares.push_back({.use = std::move(use), .share = share});
  }
  DivideCents(allocation.cents, allocation.shares);
  return allocation;
}

}  // namespace ferry::plan

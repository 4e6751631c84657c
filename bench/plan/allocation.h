// Allocate() shares what a device costs over the models and clients that used
// it, by the seconds that it computed for each; what idles is a share of its
// own.
//
// Thread safety: free functions over values.
// Errors: INVALID_ARGUMENT, with what was expected and what was found.
#ifndef FERRY_BENCH_PLAN_ALLOCATION_H_
#define FERRY_BENCH_PLAN_ALLOCATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace ferry::plan {

// What a model computed for a client. Empty names: of no client that is known,
// and in a share of no model: the device idled.
struct ComputeUse {
  std::string model;
  std::string client;
  double seconds = 0;
};

struct AllocationInput {
  double hours = 0;     // that the device was paid for
  double per_hour = 0;  // its price
  // A model's whole use, without a client, and what its clients had of it.
  std::vector<ComputeUse> models;
  std::vector<ComputeUse> clients;
};

struct CostShare {
  ComputeUse use;
  double share = 0;   // kCostShare
  int64_t cents = 0;  // of the currency; those of all shares are the whole
};

struct Allocation {
  int64_t cents = 0;  // the device's price over its hours, rounded
  double idle_share = 0;
  std::vector<CostShare> shares;  // models in the order given; idle is last
};

// A model's clients share what the model has, by their seconds; where they have
// fewer than the model, as without tokens, the rest is of no known client.
// Where models computed for longer than the hours are, as several instances do
// at once, nothing idled. Cents are rounded by largest remainders.
absl::StatusOr<Allocation> Allocate(const AllocationInput& input);

}  // namespace ferry::plan

#endif  // FERRY_BENCH_PLAN_ALLOCATION_H_

// Implements RuntimeSetting: lists settings, and their names.
#include "bench/report/runtime_grid.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace ferry::bench {
namespace {

bool Waits(const std::string& policy) { return policy != "eager"; }

}  // namespace

std::string Describe(const RuntimeSetting& setting) {
  const std::string text =
      absl::StrFormat("%s, %d rows", setting.policy, setting.max_batch_size);
  return Waits(setting.policy)
             ? absl::StrFormat("%s, %g ms", text, setting.max_wait_ms)
             : text;
}

std::string ConfigOf(const RuntimeSetting& setting) {
  const std::string wait =
      Waits(setting.policy)
          ? absl::StrFormat(" max_queue_delay_microseconds: %d ",
                            std::llround(setting.max_wait_ms * 1e3))
          : "";
  return absl::StrCat(
      "max_batch_size: ", setting.max_batch_size, "\ndynamic_batching {", wait,
      "}\nparameters { key: \"ferry.policy\" value { string_value: \"",
      setting.policy, "\" } }\n");
}

std::vector<RuntimeSetting> GridOf(const RuntimeChoices& choices) {
  std::vector<RuntimeSetting> grid;
  for (const std::string& policy : choices.policies) {
    for (const int32_t rows : choices.max_batch_sizes) {
      if (!Waits(policy)) {
        grid.push_back({policy, rows, 0});
        continue;
      }
      for (const double wait_ms : choices.max_waits_ms) {
        grid.push_back({policy, rows, wait_ms});
      }
    }
  }
  return grid;
}

RuntimeChoices Completed(RuntimeChoices choices, int32_t max_batch_size,
                         double bound_ms) {
  if (choices.max_batch_sizes.empty()) {
    for (int32_t rows = max_batch_size; rows >= std::max(1, max_batch_size / 4);
         rows /= 2) {
      choices.max_batch_sizes.push_back(rows);
    }
  }
  if (choices.max_waits_ms.empty()) {
    choices.max_waits_ms = {bound_ms / 50, bound_ms / 10, bound_ms / 4};
  }
  return choices;
}

RuntimeChoices CompletedBy(RuntimeChoices choices, const RuntimeSetting& own) {
  if (choices.policies.empty()) {
    choices.policies = {own.policy};
  }
  if (choices.max_batch_sizes.empty()) {
    choices.max_batch_sizes = {own.max_batch_size};
  }
  if (choices.max_waits_ms.empty()) {
    choices.max_waits_ms = {own.max_wait_ms};
  }
  return choices;
}

}  // namespace ferry::bench

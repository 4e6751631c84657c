// Implements ReadLevels: reads one queue policy after the other.
#include "models/config/config_levels.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "batcher/scheduler_options.h"

namespace ferry {
namespace {

using inference::ModelQueuePolicy;

constexpr uint64_t kMaxTimeoutMicroseconds = 86'400'000'000;  // a day

// `place` is that of the policy.
LevelOptions ReadPolicy(const ModelQueuePolicy& policy, absl::string_view field,
                        const Place& place, ConfigDiagnostics& diagnostics) {
  if (policy.timeout_action() != ModelQueuePolicy::REJECT &&
      policy.timeout_action() != ModelQueuePolicy::DELAY) {
    diagnostics.Add(
        place, absl::StrCat("field '", field,
                            ".timeout_action': expected REJECT or DELAY, got ",
                            EnumName(policy.timeout_action())));
  }
  const uint64_t timeout = policy.default_timeout_microseconds();
  if (timeout > kMaxTimeoutMicroseconds) {
    diagnostics.Add(
        place, absl::StrCat("field '", field,
                            ".default_timeout_microseconds': expected at most ",
                            kMaxTimeoutMicroseconds, ", got ", timeout));
    return {};
  }
  if (policy.max_queue_size() > INT32_MAX) {
    diagnostics.Add(
        place,
        absl::StrCat("field '", field, ".max_queue_size': expected at most ",
                     INT32_MAX, ", got ", policy.max_queue_size()));
    return {};
  }
  return {.default_timeout =
              std::chrono::microseconds(static_cast<int64_t>(timeout)),
          .delays_late = policy.timeout_action() == ModelQueuePolicy::DELAY,
          .may_shorten = policy.allow_timeout_override(),
          .max_requests = static_cast<int32_t>(policy.max_queue_size())};
}

}  // namespace

void ReadLevels(const inference::ModelDynamicBatching& batching,
                const ConfigNode& node, ModelOptions& options,
                ConfigDiagnostics& diagnostics) {
  const uint64_t count = batching.priority_levels();
  if (count > kMaxLevels) {
    diagnostics.Add(node.Line("priority_levels"),
                    absl::StrCat("field 'priority_levels': expected 0 to ",
                                 kMaxLevels, ", got ", count));
    return;
  }
  LevelOptions level;
  if (batching.has_default_queue_policy()) {
    level = ReadPolicy(batching.default_queue_policy(), "default_queue_policy",
                       node.Line("default_queue_policy"), diagnostics);
  }
  options.levels.assign(count == 0 ? 1 : count, level);
  const uint64_t chosen = batching.default_priority_level();
  if (count > 0 && (chosen < 1 || chosen > count)) {
    diagnostics.Add(
        chosen > 0 ? node.Line("default_priority_level")
                   : node.Line("priority_levels"),
        absl::StrCat("field 'default_priority_level': expected 1 to "
                     "priority_levels, ",
                     count, ", got ", chosen));
  } else if (count > 0) {
    options.default_level = static_cast<int32_t>(chosen - 1);
  }
  const Place place = node.Line("priority_queue_policy", 0);
  for (const auto& [number, policy] : batching.priority_queue_policy()) {
    if (number < 1 || number > count) {
      diagnostics.Add(
          place, absl::StrCat("field 'priority_queue_policy': expected keys "
                              "from 1 to priority_levels, ",
                              count, ", got ", number));
      continue;
    }
    options.levels[static_cast<size_t>(number - 1)] =
        ReadPolicy(policy, "priority_queue_policy", place, diagnostics);
  }
  if (batching.preserve_ordering() &&
      std::any_of(options.levels.begin(), options.levels.end(),
                  [](const LevelOptions& each) { return each.delays_late; })) {
    diagnostics.Add(node.Line("preserve_ordering"),
                    "field 'preserve_ordering': expected timeout_action REJECT "
                    "with it: a delayed request is overtaken");
  }
}

}  // namespace ferry

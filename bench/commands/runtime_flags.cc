// Implements AddRuntimeFlags(): adds three flags, each a list.
#include "bench/commands/runtime_flags.h"

#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"
#include "flags/value_checks.h"

namespace ferry::bench {

void AddRuntimeFlags(CLI::App& command, const RuntimeDefaults& defaults,
                     RuntimeChoices& choices) {
  command.option_defaults()->group("Settings of a running Ferry");
  const auto help = [](const char* what, const char* otherwise) {
    return absl::StrCat(what, "; default: ", otherwise);
  };
  command
      .add_option("--policies", choices.policies,
                  help("to try", defaults.policies))
      ->delimiter(',')
      ->check(OneOf({"eager", "window", "adaptive"}));
  command
      .add_option("--max-batch-sizes", choices.max_batch_sizes,
                  help("to try, in rows", defaults.max_batch_sizes))
      ->delimiter(',')
      ->check(IntegerFrom(1, 1 << 20));
  command
      .add_option("--max-waits-ms", choices.max_waits_ms,
                  help("to try", defaults.max_waits_ms))
      ->delimiter(',')
      ->check(NumberFrom(0.0, 60'000.0));
}

}  // namespace ferry::bench

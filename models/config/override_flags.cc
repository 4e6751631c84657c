// Implements AddOverrideFlags(): the flags, in a group of their own.
#include "models/config/override_flags.h"

#include <cstdint>
#include <string>

#include "flags/value_checks.h"

namespace ferry {

void AddOverrideFlags(CLI::App& app, ModelOverrides& overrides) {
  const auto set_max_wait = [&overrides](double ms) {
    overrides.max_wait = Milliseconds(ms);
  };
  const auto set_policy = [&overrides](const std::string& name) {
    overrides.policy = ParsePolicy(name);
  };
  const char* const batching =
      "Batching and threads (each overrides the models' configs)";
  app.add_option("--max-batch-size", overrides.max_batch_size,
                 "rows in one batch at most")
      ->check(IntegerFrom(1, 1 << 16))
      ->type_name("ROWS")
      ->group(batching);
  app.add_option_function<double>(
         "--max-wait-ms", set_max_wait,
         "how long a request waits for others at most; the policy eager waits "
         "for none beside a free instance")
      ->check(NumberFrom(0.0, 60'000.0))
      ->type_name("MS")
      ->group(batching);
  app.add_option_function<std::string>(
         "--policy", set_policy,
         "eager: leave when an instance is free; window: wait until full "
         "or --max-wait-ms; adaptive: wait until there are as many "
         "rows as carry the arrival rate, or --max-wait-ms")
      ->check(OneOf({"eager", "window", "adaptive"}))
      ->group(batching);
  app.add_option("--queue-requests", overrides.queue_requests,
                 "requests queued at most; further ones are refused")
      ->check(IntegerFrom(1, 1 << 24))
      ->type_name("N")
      ->group(batching);
  app.add_option("--queue-bytes", overrides.queue_bytes,
                 "bytes of queued requests at most")
      ->check(IntegerFrom(int64_t{1}, int64_t{1} << 44))
      ->type_name("BYTES")
      ->group(batching);
  app.add_option("--threads", overrides.threads,
                 "intra-op threads of one instance")
      ->check(IntegerFrom(1, 1024))
      ->type_name("N")
      ->group(batching);
}

}  // namespace ferry

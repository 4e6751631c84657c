// Implements SimulatedModel: waits for the simulated service time.
#include "batcher/sim/simulated_model.h"

#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "batcher/batch_buckets.h"

namespace ferry {
namespace {

constexpr Outcome kFailed = {absl::StatusCode::kInternal,
                             "simulated device failed on this batch"};

ServiceTimeSample Sample(const SimulatedModelOptions& options, int32_t rows) {
  return {
      .rows = rows,
      .took = options.alpha + options.beta * PaddedRows(options.buckets, rows)};
}

}  // namespace

absl::StatusOr<std::unique_ptr<SimulatedModel>> SimulatedModel::Create(
    ModelSpec spec, const SimulatedModelOptions& options) {
  if (absl::Status status = CheckSpec(spec); !status.ok()) {
    return status;
  }
  if (options.alpha < Duration(0) || options.beta < Duration(0)) {
    return absl::InvalidArgumentError(
        "simulated device: expected alpha and beta of at least 0");
  }
  if (!(options.jitter >= 0 && options.jitter < 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "simulated device: expected a jitter in [0, 1), got ", options.jitter));
  }
  return std::unique_ptr<SimulatedModel>(
      new SimulatedModel(std::move(spec), options));
}

SimulatedModel::SimulatedModel(ModelSpec spec,
                               const SimulatedModelOptions& options)
    : EchoModel(std::move(spec)),
      options_(options),
      warm_up_samples_(
          {Sample(options, 1),
           Sample(options, std::max(1, this->spec().max_batch_size))}),
      random_(options.seed) {}

Outcome SimulatedModel::Compute(const Batch& batch, OutputRef& output) {
  const Outcome echoed = EchoModel::Compute(batch, output);
  const Clock& clock = Clock::Steady();
  ++batch_count_;
  const TimePoint end = IsOneOf(options_.hang_every)
                            ? kNever
                            : clock.Now() + ServiceTime(batch.rows());
  if (batch_count_ == 1) {
    UsePreciseTimers();  // of this batcher thread
  }
  while (clock.Now() < end) {
    never_notified_.Wait(never_notified_.PrepareWait(), end);
  }
  if (IsOneOf(options_.abort_every)) {
    std::abort();
  }
  if (IsOneOf(options_.throw_every)) {
    throw std::runtime_error("simulated device threw on this batch");
  }
  if (IsOneOf(options_.fail_every)) {
    return kFailed;
  }
  return echoed;
}

Duration SimulatedModel::ServiceTime(int32_t rows) {
  const Duration mean = Sample(options_, rows).took;
  if (options_.jitter == 0) {
    return mean;
  }
  std::uniform_real_distribution<double> factor(1 - options_.jitter,
                                                1 + options_.jitter);
  return Duration(
      std::llround(static_cast<double>(mean.count()) * factor(random_)));
}

}  // namespace ferry

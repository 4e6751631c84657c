// Implements WarmUp: finds sizes to try, and runs them.
#include "models/torch/warm_up.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "batcher/batch_buckets.h"
#include "models/kept_batch.h"
#include "models/torch/sample_row.h"
#include "models/warm_up_lines.h"
#include "tensor/padding.h"

namespace ferry {
namespace {

// Time for warming up sizes that are no power of two.
constexpr Duration kBudget = std::chrono::seconds(2);

// A size that does not fit is a mistake in the config.
absl::Status Told(const absl::Status& status) {
  return absl::IsOutOfRange(status)
             ? absl::InvalidArgumentError(status.message())
             : status;
}

absl::Status Named(absl::string_view rows, const absl::Status& status) {
  return absl::IsInternal(status)
             ? absl::InternalError(absl::StrCat("forward() of ", rows,
                                                " fails, ", status.message()))
             : status;
}

absl::Status OfSample(const WarmUpSample& sample, const absl::Status& status) {
  const std::string name = absl::StrCat("model_warmup '", sample.name, "'");
  return absl::IsInternal(status)
             ? Named(name, status)
             : absl::Status(status.code(),
                            absl::StrCat(name, ": ", status.message()));
}

// Whether some size has to be made up.
bool NeedsMadeUpSize(const ModelSpec& spec) {
  return std::any_of(spec.inputs.begin(), spec.inputs.end(),
                     [](const TensorSpec& input) {
                       return !input.is_mask && input.pads.empty() &&
                              VaryingDim(input.dims).has_value();
                     });
}

// Whether no other size of the inputs would mend it: it is none of an output's
// size, or one that two sizes of the inputs have in common.
bool IsOfAnySize(const absl::Status& misfit,
                 const std::vector<absl::Status>& misfits) {
  return absl::IsInvalidArgument(misfit) ||
         std::count(misfits.begin(), misfits.end(), misfit) > 1;
}

}  // namespace

WarmUp::WarmUp(const ModelOptions& options, int runs, MadeUpIntegers integers,
               RunBatch run_batch)
    : options_(options),
      runs_(runs),
      integers_(integers),
      run_batch_(run_batch) {}

absl::Status WarmUp::Run() {
  if (options_.must_run != nullptr) {
    const absl::Status status = run_batch_(options_.must_run->batch());
    if (!status.ok()) {
      return Told(Named("rows of a batch that failed in bf16", status));
    }
  }
  for (const WarmUpSample& sample : options_.warm_up) {
    std::vector<RowInput> row;
    absl::Status status = RowOf(sample, options_.spec, row);
    if (status.ok() && &sample == &options_.warm_up.front()) {
      status = RunSizes(row);
      status = status.ok() ? RunPads(row) : status;
    }
    if (status.ok()) {
      Duration took{0};
      status = RunSize(row, SizeFor(sample.rows), std::max(runs_, sample.count),
                       took);
    }
    if (!status.ok()) {
      return Told(OfSample(sample, status));
    }
  }
  if (!options_.warm_up.empty()) {
    return absl::OkStatus();
  }
  std::vector<RowInput> row;
  absl::Status status = FindRow(row);
  if ((absl::IsInternal(status) || absl::IsOutOfRange(status)) &&
      NeedsMadeUpSize(options_.spec)) {
    failure_ = absl::StrCat(status.message(), "; ", WarmUpLines(options_.spec));
    return absl::OkStatus();
  }
  if (status.ok()) {
    status = RunSizes(row);
    status = Named(values_.name, status.ok() ? RunPads(row) : status);
  }
  return absl::IsInternal(status)
             ? absl::InternalError(absl::StrCat(status.message(), "; ",
                                                WarmUpLines(options_.spec)))
             : Told(status);
}

absl::Status WarmUp::RunPads(const std::vector<RowInput>& row) {
  for (size_t i = 0; i < row.size(); ++i) {
    const TensorSpec& input = options_.spec.inputs[i];
    for (const int64_t size : input.pads) {
      if (input.follows.has_value()) {
        break;  // it is run with the one that it follows
      }
      if (absl::Status status = RunPad(row, i, size); !status.ok()) {
        return status;
      }
    }
  }
  return absl::OkStatus();
}

absl::Status WarmUp::RunPad(std::vector<RowInput> row, size_t input,
                            int64_t size) {
  for (size_t i = 0; i < row.size(); ++i) {
    const TensorSpec& spec = options_.spec.inputs[i];
    if (i != input && spec.follows != input) {
      continue;
    }
    row[i] = {.is_given = !spec.is_mask, .dims = spec.dims, .bytes = {}};
    std::replace(row[i].dims.begin(), row[i].dims.end(), kAnySize, size);
    std::mt19937 random(kDrawSeed);
    DrawInput(spec, values_, random, row[i]);
  }
  std::vector<int32_t> sizes = options_.buckets;
  if (sizes.empty()) {
    sizes = {1, SizeFor(INT32_MAX)};
  }
  for (const int32_t rows : sizes) {
    Duration took{0};
    if (absl::Status status = RunSize(row, rows, runs_, took); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

std::vector<int32_t> WarmUp::Sizes() const {
  if (!options_.buckets.empty()) {
    return options_.buckets;
  }
  const int32_t max = std::max(options_.spec.max_batch_size, 1);
  std::vector<int32_t> sizes;
  for (int32_t rows = 1; rows < max; rows *= 2) {
    sizes.push_back(rows);
  }
  sizes.push_back(max);
  for (int32_t rows = 3; rows < max; ++rows) {
    if ((rows & (rows - 1)) != 0) {
      sizes.push_back(rows);
    }
  }
  return sizes;
}

int32_t WarmUp::SizeFor(int32_t rows) const {
  return std::min(PaddedRows(options_.buckets, rows),
                  std::max(options_.spec.max_batch_size, 1));
}

absl::Status WarmUp::RunSizes(const std::vector<RowInput>& row) {
  const Clock& clock = Clock::Steady();
  TimePoint budget_end = kNever;
  for (int32_t rows : Sizes()) {
    const bool is_required = (rows & (rows - 1)) == 0 ||
                             rows == options_.spec.max_batch_size ||
                             !options_.buckets.empty();
    if (!is_required) {
      budget_end = std::min(budget_end, clock.Now() + kBudget);
      if (clock.Now() >= budget_end) {
        break;
      }
    }
    Duration took{0};
    if (absl::Status status = RunSize(row, rows, runs_, took); !status.ok()) {
      return status;
    }
    times_.push_back({.rows = rows, .took = took});
  }
  return absl::OkStatus();
}

absl::Status WarmUp::RunSize(const std::vector<RowInput>& row, int32_t rows,
                             int runs, Duration& took) {
  const RowRequests requests(options_.spec, row, rows);
  for (int run = 0; run < runs; ++run) {
    const TimePoint begin = Clock::Steady().Now();
    if (absl::Status status = run_batch_(requests.batch()); !status.ok()) {
      return status;
    }
    took = Clock::Steady().Now() - begin;
  }
  return absl::OkStatus();
}

absl::Status WarmUp::FindRow(std::vector<RowInput>& row) {
  absl::Status failure;  // with the first values
  std::vector<const char*> others;
  for (SyntheticValues values : {kZeroValues, kOneValues, kSmallValues}) {
    if (integers_ == MadeUpIntegers::kZeros) {
      values.least = kDeviceValues.least;
      values.end = kDeviceValues.end;
      values.low = std::min(values.low, kDeviceValues.high);
      values.high = std::min(values.high, kDeviceValues.high);
    }
    values_ = values;
    const absl::Status status = FindSize(row);
    if (status.ok() || !absl::IsInternal(status)) {
      return status;  // no other values would mend it
    }
    if (!failure.ok()) {
      others.push_back(values.name);
    }
    failure.Update(status);
  }
  return absl::InternalError(absl::StrCat(failure.message(), "; it fails of ",
                                          absl::StrJoin(others, " and "),
                                          ", too"));
}

absl::Status WarmUp::FindSize(std::vector<RowInput>& row) {
  const int32_t rows = Sizes()[0];
  absl::Status first;
  std::vector<absl::Status> misfits;  // of what ran
  for (const int64_t size : kMadeUpSizes) {
    if (size != kMadeUpSizes[0] && !IsCheap(options_.spec, size, rows)) {
      continue;
    }
    std::mt19937 random(kDrawSeed);
    row = DrawRow(options_.spec, size, values_, random);
    const absl::Status status =
        run_batch_(RowRequests(options_.spec, row, rows).batch());
    if (status.ok()) {
      return status;
    }
    first.Update(status);
    if (!NeedsMadeUpSize(options_.spec)) {
      return Told(Named(values_.name, first));
    }
    if (!absl::IsInternal(status)) {
      misfits.push_back(status);
    }
  }
  if (!misfits.empty() && std::all_of(misfits.begin(), misfits.end(),
                                      [&](const absl::Status& misfit) {
                                        return IsOfAnySize(misfit, misfits);
                                      })) {
    return Told(misfits.front());
  }
  return Named(absl::StrCat(values_.name, " with any of ",
                            absl::StrJoin(kMadeUpSizes, ", "),
                            " for each -1 of the dims"),
               first);
}

}  // namespace ferry

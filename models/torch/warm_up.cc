// Sizes to try, sizes to run.
#include "models/torch/warm_up.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ferry {
namespace {

// Sizes of a dimension that varies, the cheap ones that most models take first;
// 1 for those whose dimensions must agree with others'.
constexpr int64_t kMadeUpSizes[] = {16, 32, 64, 128, 224, 1};
// Time for warming up sizes that are no power of two.
constexpr Duration kBudget = std::chrono::seconds(2);

// Callers of the server know three codes.
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

}  // namespace

WarmUp::WarmUp(const ModelOptions& options, int runs, RunBatch run_batch)
    : options_(options), runs_(runs), run_batch_(run_batch) {}

absl::Status WarmUp::Run() {
  for (const WarmUpSample& sample : options_.warm_up) {
    if (absl::Status status = RunSample(sample); !status.ok()) {
      return status;
    }
  }
  if (!options_.warm_up.empty()) {
    return absl::OkStatus();
  }
  std::vector<RowInput> row;
  absl::Status status = FindZeros(row);
  if ((absl::IsInternal(status) || absl::IsOutOfRange(status)) &&
      HasVariableShape(options_.spec)) {
    failure_ = std::string(status.message());
    return absl::OkStatus();
  }
  if (status.ok()) {
    status = Told(Named("zeros", RunSizes(row, runs_)));
  }
  return status;
}

absl::Status WarmUp::RunSample(const WarmUpSample& sample) {
  std::vector<RowInput> row;
  absl::Status status = RowOf(sample, row);
  if (status.ok()) {
    status = Told(Named(absl::StrCat("model_warmup '", sample.name, "'"),
                        RunSizes(row, std::max(runs_, sample.count))));
  }
  return status;
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

absl::Status WarmUp::RunSizes(const std::vector<RowInput>& row, int runs) {
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
    if (absl::Status status = RunSize(row, rows, runs); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

absl::Status WarmUp::RunSize(const std::vector<RowInput>& row, int32_t rows,
                             int runs) {
  const RowRequests requests(options_.spec, row, rows);
  Duration took{0};
  for (int run = 0; run < runs; ++run) {
    const TimePoint begin = Clock::Steady().Now();
    if (absl::Status status = run_batch_(requests.batch()); !status.ok()) {
      return status;
    }
    took = Clock::Steady().Now() - begin;
  }
  times_.push_back({.rows = rows, .took = took});
  return absl::OkStatus();
}

absl::Status WarmUp::FindZeros(std::vector<RowInput>& row) {
  absl::Status first;
  for (const int64_t size : kMadeUpSizes) {
    row = ZeroRow(options_.spec, size);
    const absl::Status status =
        run_batch_(RowRequests(options_.spec, row, Sizes()[0]).batch());
    if (status.ok() || absl::IsInvalidArgument(status)) {
      return status;
    }
    first.Update(status);
    if (!HasVariableShape(options_.spec)) {
      return Told(Named("zeros", first));
    }
  }
  return Named(
      absl::StrCat("zeros with any of ", absl::StrJoin(kMadeUpSizes, ", "),
                   " for each -1 of the dims"),
      first);
}

absl::Status WarmUp::RowOf(const WarmUpSample& sample,
                           std::vector<RowInput>& row) const {
  size_t found = 0;
  for (const TensorSpec& input : options_.spec.inputs) {
    const auto given = sample.inputs.find(input.name);
    if (given != sample.inputs.end() && given->second.type == input.type &&
        given->second.dims.size() == input.dims.size()) {
      row.push_back({.dims = given->second.dims, .bytes = given->second.bytes});
      ++found;
    } else if (given == sample.inputs.end() && input.is_optional) {
      row.push_back({.is_given = false, .dims = {}, .bytes = {}});
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("model_warmup '", sample.name, "': expected input '",
                       input.name, "' as ", DataTypeName(input.type), " [",
                       absl::StrJoin(input.dims, ","), "]"));
    }
  }
  if (found != sample.inputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("model_warmup '", sample.name,
                     "': expected inputs of the model, got others too"));
  }
  return absl::OkStatus();
}

}  // namespace ferry

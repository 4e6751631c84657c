// Implements NetworkProbe: makes rows, stages, runs, and compares.
#include "models/torch/network_probe.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "batcher/batch_buckets.h"
#include "models/torch/sample_row.h"
#include "models/torch/staged_input.h"
#include "tensor/padding.h"

namespace ferry {
namespace {

constexpr Duration kBudget = std::chrono::milliseconds(500);
// One that comes out otherwise is within the tolerance then.
constexpr int64_t kMostRows = 64;
constexpr int64_t kFewRows = 2;
// A batch that is run for more than to see whether it runs has as many.
constexpr int64_t kMostElements = int64_t{1} << 20;
// Sizes of a dimension that varies: those that most networks take, then more
// than 256, to which bf16 counts.
constexpr int64_t kSizes[] = {16, 32, 64, 128, 224, 1};
constexpr int64_t kLargeSizes[] = {384, 1000};

constexpr SyntheticValues kProbeValues[] = {{"numbers from -1 to 1", -1, 1},
                                            {"numbers from 0 to 1", 0, 1}};
constexpr int32_t kIntegerEnds[] = {100, 5, 2, 1};

bool HasSizesThatVary(const ModelSpec& spec) {
  return std::any_of(
      spec.inputs.begin(), spec.inputs.end(), [](const TensorSpec& input) {
        return !input.is_mask && VaryingDim(input.dims).has_value();
      });
}

int64_t ElementsOf(const std::vector<std::vector<RowInput>>& rows) {
  int64_t elements = 0;
  for (const RowInput& input : rows.front()) {
    elements += input.is_given ? ElementCount(input.dims).value_or(0) : 0;
  }
  return elements * std::ssize(rows);
}

// Moves tensors to the host, where waiting for them shows what failed.
void ToHost(Values& values) {
  for (c10::IValue& value : values) {
    if (value.isTensor()) {
      value = value.toTensor().to(at::kCPU);
    }
  }
}

double ShareThatDiffers(const std::vector<std::string>& expected,
                        const std::vector<std::string>& found) {
  if (expected.size() != found.size()) {
    return std::numeric_limits<double>::infinity();
  }
  size_t count = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    count += expected[i] != found[i] ? 1 : 0;
  }
  return expected.empty() ? 0
                          : static_cast<double>(count) /
                                static_cast<double>(expected.size());
}

std::vector<std::string> Strings(const c10::IValue& list) {
  std::vector<std::string> strings;
  for (const c10::IValue& text : list.toListRef()) {
    strings.push_back(text.toStringRef());
  }
  return strings;
}

double ErrorOf(const at::Tensor& expected, const at::Tensor& found) {
  if (expected.sizes() != found.sizes() ||
      expected.is_floating_point() != found.is_floating_point()) {
    return std::numeric_limits<double>::infinity();
  }
  if (expected.numel() == 0) {
    return 0;
  }
  if (!expected.is_floating_point()) {
    return expected.ne(found).to(at::kDouble).mean().item<double>();
  }
  const at::Tensor wide = expected.to(at::kDouble);
  const at::Tensor other = found.to(at::kDouble);
  const at::Tensor are_alike =
      wide.eq(other).logical_or(wide.isnan().logical_and(other.isnan()));
  const double off =
      at::where(are_alike, 0.0, (wide - other).abs()).max().item<double>();
  const double largest =
      at::nan_to_num(wide, 0, 0, 0).abs().max().item<double>();
  return std::isnan(off) ? std::numeric_limits<double>::infinity()
                         : off / (largest > 0 ? largest : 1);
}

double ErrorOf(const c10::IValue& expected, const c10::IValue& found) {
  if (expected.isTensor() && found.isTensor()) {
    return ErrorOf(expected.toTensor(), found.toTensor());
  }
  return expected.isList() && found.isList()
             ? ShareThatDiffers(Strings(expected), Strings(found))
             : std::numeric_limits<double>::infinity();
}

ProbeError LargestError(const Values& expected, const Values& found) {
  ProbeError largest;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double share = i < found.size()
                             ? ErrorOf(expected[i], found[i])
                             : std::numeric_limits<double>::infinity();
    if (share > largest.share) {
      largest = {.share = share, .output = i};
    }
  }
  return largest;
}

// Returns of each output one of `rows` rows; empty where an output has no rows.
Values RowOf(const Values& outputs, int64_t row, int64_t rows) {
  Values alone;
  for (const c10::IValue& output : outputs) {
    if (!output.isTensor() || output.toTensor().dim() == 0 ||
        output.toTensor().size(0) != rows) {
      return {};
    }
    alone.emplace_back(output.toTensor().narrow(0, row, 1));
  }
  return alone;
}

// Whether rows have the same inputs of the same dims.
bool AreOfOneShape(const std::vector<RowInput>& a,
                   const std::vector<RowInput>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const RowInput& one, const RowInput& other) {
                      return one.is_given == other.is_given &&
                             one.dims == other.dims;
                    });
}

}  // namespace

NetworkProbe::NetworkProbe(const ModelOptions& options, at::Device device)
    : options_(options),
      device_(device),
      most_rows_(
          std::clamp<int64_t>(options.spec.max_batch_size, 1, kMostRows)),
      random_(kDrawSeed) {}

void NetworkProbe::Run(Network& network, Precision precision, Extent extent) {
  at::set_num_threads(options_.threads);
  end_ = Clock::Steady().Now() + kBudget;
  const ModelOptions staged = StagedIn(precision);
  if (options_.warm_up.empty()) {
    RunSynthetic(network, staged, extent);
  } else {
    RunSamples(network, staged, extent);
  }
}

// Those of one shape share a batch. What a sample does not bring as a file is
// drawn as well.
void NetworkProbe::RunSamples(Network& network, const ModelOptions& staged,
                              Extent extent) {
  std::vector<std::vector<Row>> batches;
  for (const WarmUpSample& sample : options_.warm_up) {
    Row row;
    if (!RowOf(sample, options_.spec, row).ok()) {
      continue;  // warm-up says so
    }
    const auto like = std::find_if(batches.begin(), batches.end(),
                                   [&](const std::vector<Row>& batch) {
                                     return AreOfOneShape(batch.front(), row) &&
                                            std::ssize(batch) < most_rows_;
                                   });
    (like == batches.end() ? batches.emplace_back() : *like).push_back(row);
    Row drawn = row;
    bool is_drawn = false;
    for (size_t i = 0; i < drawn.size(); ++i) {
      const TensorSpec& spec = options_.spec.inputs[i];
      const auto input = sample.inputs.find(spec.name);
      if (input != sample.inputs.end() &&
          input->second.data != WarmUpSample::Data::kFile &&
          spec.type != DataType::kBytes &&
          at::isFloatingType(StagedType(staged, i, std::nullopt))) {
        DrawInput(spec, kProbeValues[0], random_, drawn[i]);
        is_drawn = true;
      }
    }
    if (is_drawn) {
      batches.push_back({std::move(drawn)});
    }
  }
  for (std::vector<Row>& batch : batches) {
    if (!has_run() ||
        (extent == Extent::kAll && HasTimeFor(ElementsOf(batch)))) {
      const absl::Status status = Try(network, staged, std::move(batch));
      if (!status.ok() && failure_.empty()) {
        failure_ = std::string(status.message());
      }
    }
  }
  if (has_run() && std::none_of(batches_.begin(), batches_.end(),
                                [](const ProbeBatch& batch) {
                                  return batch.rows.size() > 1;
                                })) {
    const size_t compared = batches_.size();
    RunSynthetic(network, staged, Extent::kOneBatch);
    if (batches_.size() > compared) {  // to see rows beside each other
      batches_.back().is_compared = false;
    }
  }
}

void NetworkProbe::RunSynthetic(Network& network, const ModelOptions& staged,
                                Extent extent) {
  const std::optional<Synthetic> found = FindSynthetic(network, staged);
  if (!found.has_value() || extent == Extent::kOneBatch) {
    return;
  }
  const int64_t row_elements = std::max<int64_t>(
      ElementsOf(batches_.back().rows) / std::ssize(batches_.back().rows), 1);
  const int64_t most =
      std::clamp(kMostElements / row_elements, int64_t{1}, most_rows_);
  for (SyntheticValues values : kProbeValues) {
    values.least = found->values.least;
    values.end = found->values.end;
    int64_t count = most;
    while (count > 1 && !HasTimeFor(count * row_elements)) {
      count /= 2;
    }
    if (HasTimeFor(count * row_elements)) {
      (void)Try(network, staged, DrawRows(found->size, values, count));
    }
  }
  for (const int64_t large : kLargeSizes) {
    if (!HasSizesThatVary(options_.spec) ||
        !IsCheap(options_.spec, large, kFewRows)) {
      continue;
    }
    std::vector<Row> rows = DrawRows(large, found->values, few_rows());
    if (HasTimeFor(ElementsOf(rows))) {
      (void)Try(network, staged, std::move(rows));  // it may take no more
    }
  }
}

std::optional<NetworkProbe::Synthetic> NetworkProbe::FindSynthetic(
    Network& network, const ModelOptions& staged) {
  for (const Synthetic& tried : SyntheticRows()) {
    const absl::Status status =
        Try(network, staged, DrawRows(tried.size, tried.values, few_rows()));
    if (status.ok()) {
      return tried;
    }
    if (failure_.empty()) {
      failure_ = std::string(status.message());
    }
    if (Clock::Steady().Now() >= end_) {
      break;
    }
  }
  return std::nullopt;
}

// Returns values and sizes in the order in which they are tried.
std::vector<NetworkProbe::Synthetic> NetworkProbe::SyntheticRows() const {
  std::vector<Synthetic> all;
  for (const SyntheticValues& floats :
       {kProbeValues[0], kProbeValues[1], kOneValues}) {
    for (const int32_t end : kIntegerEnds) {
      if (!device_.is_cpu() && end > 1) {
        continue;
      }
      SyntheticValues values = floats;
      values.least = 0;
      values.end = end;
      for (const int64_t size : kSizes) {
        if (size == kSizes[0] || (HasSizesThatVary(options_.spec) &&
                                  IsCheap(options_.spec, size, kFewRows))) {
          all.push_back({values, size});
        }
      }
    }
  }
  return all;
}

absl::Status NetworkProbe::Try(Network& network, const ModelOptions& staged,
                               std::vector<Row> rows) {
  Values outputs;
  const TimePoint begin = Clock::Steady().Now();
  if (absl::Status status = Forward(network, staged, rows, outputs);
      !status.ok()) {
    return status;
  }
  took_ = Clock::Steady().Now() - begin;
  elements_ = ElementsOf(rows);
  batches_.push_back({std::move(rows), std::move(outputs)});
  return absl::OkStatus();
}

std::vector<NetworkProbe::Row> NetworkProbe::DrawRows(
    int64_t any_size, const SyntheticValues& values, int64_t count) {
  std::vector<Row> rows;
  // Rows of one size would hide what depends on the largest of a batch.
  SyntheticValues smaller = values;
  smaller.low /= 4;
  smaller.high /= 4;
  for (int64_t row = 0; row < count; ++row) {
    rows.push_back(DrawRow(options_.spec, any_size,
                           row % 2 == 0 ? values : smaller, random_));
  }
  return rows;
}

bool NetworkProbe::HasTimeFor(int64_t elements) const {
  const double times = static_cast<double>(elements) /
                       static_cast<double>(std::max<int64_t>(elements_, 1));
  const Duration left = end_ - Clock::Steady().Now();
  return static_cast<double>(took_.count()) * times <
         static_cast<double>(left.count());
}

absl::Status NetworkProbe::Forward(Network& network, const ModelOptions& staged,
                                   const std::vector<Row>& rows,
                                   Values& outputs) const {
  Values inputs;
  return Guarded([&] {
    const RowRequests requests(staged.spec, rows);
    const int32_t count = requests.batch().rows();
    const int32_t padded = PaddedRows(staged.buckets, count);
    for (size_t i = 0; i < staged.spec.inputs.size(); ++i) {
      StagedInput input(staged, i, network.input_type(i));
      inputs.push_back(input.Stage(requests.batch(), padded));
      if (inputs.back().isTensor()) {  // the view keeps the memory
        inputs.back() = inputs.back().toTensor().to(device_);
      }
    }
    absl::Status ran = network.Forward(inputs, outputs);
    ToHost(outputs);
    for (c10::IValue& output : outputs) {
      if (padded > count && output.isTensor() && output.toTensor().dim() > 0 &&
          output.toTensor().size(0) == padded) {
        output = output.toTensor().narrow(0, 0, count);
      }
    }
    return ran;
  });
}

ModelOptions NetworkProbe::StagedIn(Precision precision) const {
  ModelOptions staged = options_;
  staged.precision = precision;
  staged.warm_up.clear();
  return staged;
}

absl::StatusOr<ProbeError> NetworkProbe::Compare(Network& other,
                                                 Precision precision) const {
  const ModelOptions staged = StagedIn(precision);
  ProbeError largest;
  for (const ProbeBatch& batch : batches_) {
    Values found;
    if (!batch.is_compared) {
      continue;
    }
    if (absl::Status status = Forward(other, staged, batch.rows, found);
        !status.ok()) {
      return status;
    }
    const ProbeError error = LargestError(batch.outputs, found);
    if (error.share > largest.share) {
      largest = error;
    }
  }
  return largest;
}

std::string NetworkProbe::MixedOutput(Network& network, Precision precision,
                                      double tolerance) const {
  const auto batch =
      std::find_if(batches_.begin(), batches_.end(),
                   [](const ProbeBatch& ran) { return ran.rows.size() > 1; });
  if (batch == batches_.end()) {
    return "";
  }
  const ModelOptions staged = StagedIn(precision);
  const int64_t rows = std::ssize(batch->rows);
  for (int64_t row = 0; row < std::min(rows, kFewRows); ++row) {
    const Values expected = RowOf(batch->outputs, row, rows);
    Values alone;
    if (expected.empty() ||
        !Forward(network, staged, {batch->rows[static_cast<size_t>(row)]},
                 alone)
             .ok()) {
      return "";
    }
    const ProbeError error = LargestError(expected, alone);
    if (error.share <= tolerance) {
      continue;
    }
    Values again;
    const bool is_the_same =
        Forward(network, staged, batch->rows, again).ok() &&
        LargestError(batch->outputs, again).share <= tolerance;
    return is_the_same && error.output < options_.spec.outputs.size()
               ? options_.spec.outputs[error.output].name
               : "";
  }
  return "";
}

}  // namespace ferry

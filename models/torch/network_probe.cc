// Implements NetworkProbe: makes rows, stages, runs, and compares.
#include "models/torch/network_probe.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "batcher/batch_buckets.h"
#include "models/torch/output_difference.h"
#include "models/torch/sample_row.h"
#include "models/torch/staged_input.h"
#include "tensor/padding.h"

namespace ferry {
namespace {

constexpr Duration kBudget = std::chrono::milliseconds(500);
// For finding a row, and for rows of a large size.
constexpr Duration kLargeBudget = std::chrono::milliseconds(2500);
// One after the other: what each took says by which power of its elements time
// grows, a margin added, up to the square, as that of attention does. Outputs
// may grow so as well, and have at most so many elements then.
constexpr int64_t kLargeSizes[] = {16, 64, 128, 384};
constexpr int64_t kLargeSize = kLargeSizes[3];
constexpr double kGrowthMargin = 0.5;
constexpr double kMostGrowth = 2;
constexpr double kMostLarge = 1 << 26;
// The first batch has as many rows, fewer where that are more elements, and two
// at least.
constexpr int32_t kFirstRows = 8;
constexpr int64_t kFirstElements = int64_t{1} << 18;
// Each base and kind has as many after that, in batches of so many elements, as
// long as all that is kept has no more.
constexpr int64_t kMostRows = 64;
constexpr int64_t kMostElements = int64_t{1} << 20;
constexpr int64_t kMostKept = int64_t{1} << 24;
// Integers end before the first of these that the network takes; those of which
// a row has one also before the last.
constexpr int32_t kIntegerEnds[] = {100, 5, 2, 1};
constexpr int32_t kLargeIntegers = 1000;

constexpr SyntheticValues kKinds[] = {
    {"", -1, 1},
    {"", 0, 1},
    // In inputs of one number a row, a time or a count more often than not.
    {"", 0, 1000, 0, kLargeIntegers},
    // In inputs of more, positions or ids.
    {"", -1, 1, 0, kLargeIntegers}};
constexpr size_t kLargeNumber = 2;
constexpr size_t kManyLargeIntegers = 3;

// Where integers are fewer one or two may differ: the larger of two values
// that are almost alike may be either.
constexpr int64_t kFewIntegers = 40;
constexpr int64_t kRowsTogether = 4;
// How far rows alone may be from the same rows together: kernels of other batch
// sizes sum up in another order.
constexpr double kRowsTolerance = 0.01;
constexpr double kRowsTolerance16 = 0.05;  // floats of 16 bits, or int8

bool HasSizesThatVary(const ModelSpec& spec) {
  return std::any_of(
      spec.inputs.begin(), spec.inputs.end(), [](const TensorSpec& input) {
        return !input.is_mask && VaryingDim(input.dims).has_value();
      });
}

bool IsOneNumber(const TensorSpec& input) {
  return std::all_of(input.dims.begin(), input.dims.end(),
                     [](int64_t dim) { return dim == 1; });
}

bool IsManyIntegers(const TensorSpec& input) {
  return !IsOneNumber(input) && !input.is_mask &&
         input.type != DataType::kBytes &&
         at::isIntegralType(WireType(input.type), /*includeBool=*/false);
}

// What floats and integers are drawn from, one after the other.
std::vector<SyntheticValues> KindsFor(const ModelSpec& spec,
                                      at::Device device) {
  if (!device.is_cpu()) {
    return {kDeviceValues};
  }
  std::vector<SyntheticValues> kinds = {kKinds[0], kKinds[1]};
  if (std::any_of(spec.inputs.begin(), spec.inputs.end(), IsOneNumber)) {
    kinds.push_back(kKinds[kLargeNumber]);
  }
  if (std::any_of(spec.inputs.begin(), spec.inputs.end(), IsManyIntegers)) {
    kinds.push_back(kKinds[kManyLargeIntegers]);
  }
  return kinds;
}

// Whether integers of inputs of several are larger in that kind, where the
// network takes them below `integer_end`.
bool HasManyLarge(const SyntheticValues& kind, int32_t integer_end) {
  return kind.high <= 1 && kind.end == kLargeIntegers &&
         integer_end == kIntegerEnds[0];
}

// Whether its rows are not but others of the first kind.
bool IsOfItsOwn(const SyntheticValues& kind, int32_t integer_end) {
  return kind.high > 1 || kind.end != kLargeIntegers ||
         HasManyLarge(kind, integer_end);
}

int64_t ElementsOf(const std::vector<RowInput>& row) {
  int64_t elements = 0;
  for (const RowInput& input : row) {
    elements += input.is_given ? ElementCount(input.dims).value_or(0) : 0;
  }
  return elements;
}

int64_t ElementsOf(const Values& outputs) {
  int64_t elements = 0;
  for (const c10::IValue& output : outputs) {
    elements += output.isTensor() ? output.toTensor().numel() : 0;
  }
  return elements;
}

bool AreAlike(const std::vector<RowInput>& row,
              const std::vector<RowInput>& other) {
  return std::equal(row.begin(), row.end(), other.begin(), other.end(),
                    [](const RowInput& one, const RowInput& two) {
                      return one.bytes == two.bytes;
                    });
}

// Whether outputs have floats, and none of them is a number.
bool HasNoNumbers(const Values& outputs) {
  bool has_floats = false;
  for (const c10::IValue& value : outputs) {
    if (value.isTensor() && value.toTensor().is_floating_point() &&
        value.toTensor().numel() > 0) {
      if (value.toTensor().isfinite().any().item<bool>()) {
        return false;
      }
      has_floats = true;
    }
  }
  return has_floats;
}

// Returns the tensors of floats, or the other outputs; None in place of the
// rest.
Values Only(bool floats, const Values& outputs) {
  Values only;
  for (const c10::IValue& output : outputs) {
    const bool is_float =
        output.isTensor() && output.toTensor().is_floating_point();
    only.push_back(is_float == floats ? output : c10::IValue());
  }
  return only;
}

class Differences {
 public:
  explicit Differences(const ModelSpec& spec)
      : of_(spec.outputs.size(), OutputDifference(std::size(kKinds))) {}

  void Add(const Values& expected, const Values& found, size_t kind) {
    for (size_t i = 0; i < of_.size() && i < expected.size(); ++i) {
      if (!expected[i].isNone()) {
        of_[i].Add(expected[i], i < found.size() ? found[i] : c10::IValue(),
                   kind);
      }
    }
  }

  ProbeError Largest(int64_t least_count) const {
    ProbeError largest;
    for (size_t i = 0; i < of_.size(); ++i) {
      if (const double share = of_[i].share(least_count);
          share > largest.share) {
        largest = {.share = share, .output = i};
      }
    }
    return largest;
  }

 private:
  std::vector<OutputDifference> of_;  // [output]
};

// Whether it has that many rows; strings are not told apart by rows.
bool HasRows(const c10::IValue& output, int64_t rows) {
  return output.isTensor() && output.toTensor().dim() > 0 &&
         output.toTensor().size(0) == rows;
}

// Returns `count` of `rows` rows of each output, None where an output has none.
Values RowsOf(const Values& outputs, int64_t first, int64_t count,
              int64_t rows) {
  Values some;
  for (const c10::IValue& output : outputs) {
    some.push_back(HasRows(output, rows)
                       ? c10::IValue(output.toTensor().narrow(0, first, count))
                       : c10::IValue());
  }
  return some;
}

}  // namespace

NetworkProbe::NetworkProbe(const ModelOptions& options, at::Device device,
                           const Clock& clock)
    : options_(options),
      device_(device),
      clock_(clock),
      most_rows_(
          std::clamp<int64_t>(options.spec.max_batch_size, 1, kMostRows)),
      sizes_vary_(HasSizesThatVary(options.spec)),
      kinds_(KindsFor(options.spec, device)),
      random_(kDrawSeed) {}

void NetworkProbe::Find(Network& network, Precision precision) {
  at::set_num_threads(options_.threads);
  begin_ = clock_.Now();
  const ModelOptions staged = StagedIn(precision);
  if (options_.warm_up.empty()) {
    FindSynthetic(network, staged);
  } else {
    FindSamples(network, staged);
  }
}

void NetworkProbe::FindSamples(Network& network, const ModelOptions& staged) {
  for (const WarmUpSample& sample : options_.warm_up) {
    Base base;
    if (!RowOf(sample, options_.spec, base.row).ok()) {
      continue;  // warm-up says so
    }
    for (const TensorSpec& input : options_.spec.inputs) {
      const auto given = sample.inputs.find(input.name);
      base.is_drawn.push_back(given != sample.inputs.end() &&
                              given->second.data != WarmUpSample::Data::kFile &&
                              input.type != DataType::kBytes &&
                              at::isFloatingType(WireType(input.type)));
    }
    if (!has_run() || HasTimeFor(ElementsOf(base.row), kBudget)) {
      (void)TryBase(network, staged, std::move(base), kinds_[0]);
    }
  }
}

void NetworkProbe::FindSynthetic(Network& network, const ModelOptions& staged) {
  std::vector<SyntheticValues> all = {kKinds[0], kKinds[1], kOneValues};
  if (!device_.is_cpu()) {
    all = {kDeviceValues};
  }
  for (SyntheticValues values : all) {
    for (const int32_t end : kIntegerEnds) {
      values.least = 0;
      values.end = end;
      for (const int64_t size : kMadeUpSizes) {
        if ((end > 1 && !device_.is_cpu()) ||
            (size != kMadeUpSizes[0] &&
             !(sizes_vary_ && IsCheap(options_.spec, size, kFirstRows)))) {
          continue;
        }
        Row row = DrawRow(options_.spec, size, values, random_);
        std::vector<bool> is_drawn(row.size(), true);
        if (TryBase(network, staged, {std::move(row), is_drawn, end}, values)
                .ok() ||
            clock_.Now() - begin_ > kLargeBudget) {
          return;
        }
      }
    }
  }
}

absl::Status NetworkProbe::TryBase(Network& network, const ModelOptions& staged,
                                   Base base, const SyntheticValues& values) {
  std::vector<Row> rows = {base.row};
  const int64_t few =
      kFirstElements / std::max<int64_t>(ElementsOf(base.row), 1);
  const int64_t count =
      base.draws()
          ? std::min(std::clamp<int64_t>(few, 2, kFirstRows), most_rows_)
          : 1;
  for (int64_t row = 1; row < count; ++row) {
    rows.push_back(Draw(base, values, row));
  }
  const absl::Status status = Try(network, staged, std::move(rows), 0);
  if (status.ok()) {
    bases_.push_back(std::move(base));
  } else if (failure_.empty()) {
    failure_ = std::string(status.message());
  }
  return status;
}

absl::Status NetworkProbe::Try(Network& network, const ModelOptions& staged,
                               std::vector<Row> rows, size_t kind) {
  Values outputs;
  const TimePoint begin = clock_.Now();
  if (absl::Status status = Forward(network, device_, staged, rows, outputs);
      !status.ok()) {
    return status;
  }
  if (HasNoNumbers(outputs)) {
    return absl::InternalError("it gives no finite number");
  }
  took_ = clock_.Now() - begin;
  elements_ = std::max({ElementsOf(rows.front()) * std::ssize(rows),
                        ElementsOf(outputs), int64_t{1}});
  kept_ += elements_;
  batches_.push_back({std::move(rows), std::move(outputs), kind});
  return absl::OkStatus();
}

void NetworkProbe::RunMore(Network& network, Precision precision) {
  at::set_num_threads(options_.threads);
  const ModelOptions staged = StagedIn(precision);
  begin_ = clock_.Now();
  if (sizes_vary_ && device_.is_cpu()) {
    RunLarge(network, staged);
  }
  begin_ = clock_.Now();
  for (const Base& base : bases_) {
    for (size_t kind = 0; kind < kinds_.size() && base.draws(); ++kind) {
      if (IsOfItsOwn(kinds_[kind], base.integer_end)) {
        RunRows(network, staged, base, kind);
      }
    }
  }
}

void NetworkProbe::RunLarge(Network& network, const ModelOptions& staged) {
  // A script is optimized in its first two runs: the third tells the time.
  for (int run = 1; run < network.warm_up_runs(); ++run) {
    if (HasTimeFor(elements_, kBudget) &&
        Try(network, staged, batches_.back().rows, 0).ok()) {
      batches_.pop_back();
    }
  }
  for (const int64_t size : kLargeSizes) {
    const int64_t largest = largest_size();
    begin_ = clock_.Now();
    for (const Base& base : bases_) {
      if (size > largest || size == kLargeSize) {
        RunStretched(network, staged, base, size);
      }
    }
  }
}

void NetworkProbe::RunStretched(Network& network, const ModelOptions& staged,
                                const Base& base, int64_t size) {
  const size_t kinds =
      base.draws() && size == kLargeSize ? kinds_.size() : size_t{1};
  for (size_t kind = 0; kind < kinds && IsCheap(options_.spec, size, 1);
       ++kind) {
    if (!IsOfItsOwn(kinds_[kind], base.integer_end)) {
      continue;
    }
    Row large = Stretched(Draw(base, kinds_[kind], 0), size);
    const std::vector<Row>& last = batches_.back().rows;
    const auto rows = static_cast<double>(last.size());
    const double times =
        std::max(1.0, static_cast<double>(ElementsOf(large)) /
                          static_cast<double>(
                              std::max(ElementsOf(last.front()), int64_t{1})));
    const double before = static_cast<double>(took_.count()) / rows;
    const Duration left = begin_ + kLargeBudget - clock_.Now();
    if (static_cast<double>(elements_) / rows * times * times > kMostLarge ||
        before * std::pow(times, growth_) > static_cast<double>(left.count())) {
      continue;
    }
    has_tried_large_ = has_tried_large_ || size == kLargeSize;
    if (Try(network, staged, {std::move(large)}, kind).ok() && times > 1) {
      const double grew = static_cast<double>(took_.count()) / before;
      growth_ = std::clamp(std::log(grew) / std::log(times) + kGrowthMargin,
                           1.0, kMostGrowth);
    }
  }
}

void NetworkProbe::RunRows(Network& network, const ModelOptions& staged,
                           const Base& base, size_t kind) {
  const int64_t each = std::max(elements_ / std::ssize(batches_.back().rows),
                                ElementsOf(base.row));
  int64_t count = std::clamp(kMostElements / each, int64_t{1}, most_rows_);
  for (int64_t done = 0; done < kMostRows; done += count) {
    while (count > 1 && !HasTimeFor(count * each, kBudget)) {
      count /= 2;
    }
    std::vector<Row> rows;
    for (int64_t row = 0; row < count; ++row) {
      rows.push_back(Draw(base, kinds_[kind], done + row));
    }
    if (kept_ > kMostKept || !HasTimeFor(count * each, kBudget) ||
        !Try(network, staged, std::move(rows), kind).ok()) {
      return;
    }
  }
}

absl::Status NetworkProbe::Forward(Network& network, at::Device device,
                                   const ModelOptions& staged,
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
        inputs.back() = inputs.back().toTensor().to(device);
      }
    }
    absl::Status ran = network.Forward(inputs, outputs);
    outputs = OnHost(outputs);  // they may lie in the network's own memory
    for (c10::IValue& output : outputs) {
      if (padded > count && output.isTensor() && output.toTensor().dim() > 0 &&
          output.toTensor().size(0) == padded) {
        output = output.toTensor().narrow(0, 0, count);
      }
    }
    return ran;
  });
}

NetworkProbe::Row NetworkProbe::Draw(const Base& base,
                                     const SyntheticValues& values,
                                     int64_t number) {
  Row row = base.row;
  for (size_t i = 0; i < row.size(); ++i) {
    const TensorSpec& spec = options_.spec.inputs[i];
    std::vector<std::byte>& bytes = row[i].bytes;
    if (!row[i].is_given) {
      continue;
    }
    if (base.is_drawn[i]) {
      const bool is_one = ElementCount(row[i].dims) == 1;
      const bool is_of_one = values.high > 1;
      SyntheticValues own = is_of_one && !is_one ? kKinds[0] : values;
      const bool takes_large =
          is_of_one ? is_one && base.integer_end > 1
                    : !is_one && HasManyLarge(values, base.integer_end);
      own.end = takes_large ? kLargeIntegers : base.integer_end;
      if (number % 2 != 0 && own.low < own.high) {
        own.low /= 4;
        own.high /= 4;
      }
      DrawInput(spec, own, random_, row[i]);
    } else if (number % 2 != 0 && spec.type != DataType::kBytes) {
      std::rotate(bytes.begin(),
                  bytes.begin() + static_cast<ptrdiff_t>(std::min(
                                      ElementSize(spec.type), bytes.size())),
                  bytes.end());
    }
  }
  return row;
}

NetworkProbe::Row NetworkProbe::Stretched(const Row& row, int64_t size) {
  Row large = DrawRow(options_.spec, size, kZeroValues, random_);
  for (size_t i = 0; i < row.size(); ++i) {
    if (!row[i].is_given || row[i].dims == large[i].dims) {
      large[i] = row[i];
    } else if (options_.spec.inputs[i].type != DataType::kBytes &&
               !row[i].bytes.empty()) {
      for (size_t at = 0; at < large[i].bytes.size(); ++at) {
        large[i].bytes[at] = row[i].bytes[at % row[i].bytes.size()];
      }
    }
  }
  return large;
}

bool NetworkProbe::HasTimeFor(int64_t elements, Duration budget) const {
  const double times =
      static_cast<double>(elements) / static_cast<double>(elements_);
  const Duration left = begin_ + budget - clock_.Now();
  return static_cast<double>(took_.count()) * times <
         static_cast<double>(left.count());
}

ModelOptions NetworkProbe::StagedIn(Precision precision) const {
  ModelOptions staged = options_;
  staged.precision = precision;
  staged.warm_up.clear();
  return staged;
}

int64_t NetworkProbe::largest_size() const {
  int64_t largest = 0;
  for (const ProbeBatch& batch : batches_) {
    const Row& row = batch.rows.front();
    for (size_t i = 0; i < row.size() && sizes_vary_; ++i) {
      const std::vector<int64_t>& dims = options_.spec.inputs[i].dims;
      for (size_t dim = 0; dim < dims.size() && row[i].is_given; ++dim) {
        largest = dims[dim] == kAnySize ? std::max(largest, row[i].dims[dim])
                                        : largest;
      }
    }
  }
  return largest;
}

bool NetworkProbe::leaves_out_sizes() const {
  return sizes_vary_ && !has_tried_large_ && largest_size() < kLargeSize;
}

absl::StatusOr<ProbeError> NetworkProbe::Compare(Network& other,
                                                 Precision precision,
                                                 at::Device device,
                                                 bool independent) const {
  const ModelOptions staged = StagedIn(precision);
  Differences differences(options_.spec);
  for (const ProbeBatch& batch : batches_) {
    std::vector<ProbeBatch> parts = {batch};
    while (!parts.empty()) {
      const ProbeBatch part = std::move(parts.back());
      parts.pop_back();
      Values found;
      const absl::Status status =
          Forward(other, device, staged, part.rows, found);
      if (status.ok()) {
        differences.Add(part.outputs, found, part.kind);
      } else if (!absl::IsResourceExhausted(status) || !independent ||
                 !AddHalves(part, parts)) {
        return status;
      }
    }
  }
  return differences.Largest(kFewIntegers);
}

bool NetworkProbe::AddHalves(const ProbeBatch& batch,
                             std::vector<ProbeBatch>& halves) {
  const int64_t rows = std::ssize(batch.rows);
  if (rows < 2 || !std::all_of(batch.outputs.begin(), batch.outputs.end(),
                               [&](const c10::IValue& output) {
                                 return HasRows(output, rows);
                               })) {
    return false;
  }
  const int64_t half = rows / 2;
  halves.push_back({{batch.rows.begin(), batch.rows.begin() + half},
                    RowsOf(batch.outputs, 0, half, rows),
                    batch.kind});
  halves.push_back({{batch.rows.begin() + half, batch.rows.end()},
                    RowsOf(batch.outputs, half, rows - half, rows),
                    batch.kind});
  return true;
}

absl::StatusOr<RowsFound> NetworkProbe::CompareRows(Network& network,
                                                    Precision precision) {
  if (most_rows_ < 2) {
    return RowsFound{.why_unsure = "a batch has one row"};
  }
  if (!has_run()) {
    return absl::FailedPreconditionError(failure_);
  }
  std::vector<Row> rows = {batches_.front().rows.front()};
  for (int64_t row = 1; row < std::min(most_rows_, kRowsTogether); ++row) {
    rows.push_back(Draw(bases_.front(), kinds_[0], row));
  }
  if (std::all_of(rows.begin(), rows.end(), [&](const Row& row) {
        return AreAlike(row, rows.front());
      })) {
    return absl::FailedPreconditionError(
        device_.is_cpu() ? "all rows that it takes are alike"
                         : "on a device integers are zeros, so all rows are "
                           "alike");
  }
  const ModelOptions staged = StagedIn(precision);
  std::vector<RowAlone> alone;
  TimePoint begin = clock_.Now();
  Duration took = kNever - begin;  // a row; a script is optimized meanwhile
  for (size_t row = 0; row < 2; ++row) {
    begin = clock_.Now();
    alone.push_back({rows[row], {}});
    if (absl::Status status = Forward(network, device_, staged,
                                      {alone.back().row}, alone.back().outputs);
        !status.ok()) {
      return status;
    }
    took = std::min(took, clock_.Now() - begin);
  }
  begin = clock_.Now();
  absl::StatusOr<RowsFound> found =
      CompareWith(alone, rows, network, precision);
  if (!found.ok() || !found->mixed_output.empty()) {
    return found;
  }
  took = std::max(std::min(took, (clock_.Now() - begin) / std::ssize(rows)),
                  Duration{1});
  const int64_t each =
      std::max({ElementsOf(rows.front()), ElementsOf(alone.front().outputs),
                int64_t{1}});
  const int64_t most = std::max<int64_t>(
      std::min<int64_t>(kMostKept / each, kBudget / took), kRowsTogether);
  const int64_t full = std::min<int64_t>(options_.spec.max_batch_size, most);
  for (int64_t row = std::ssize(rows); row < full; ++row) {
    rows.push_back(Draw(bases_.front(), kinds_[0], row));
  }
  rows[rows.size() - 2] = rows.front();
  rows.back() = rows.front();
  absl::StatusOr<RowsFound> in_full =
      CompareWith(alone, rows, network, precision);
  if (!in_full.ok()) {
    found->why_not_full =
        absl::StrCat(full, " rows: ", in_full.status().message());
    return found;
  }
  if (in_full->why_unsure.empty() && in_full->mixed_output.empty()) {
    return found;
  }
  return in_full;
}

absl::StatusOr<RowsFound> NetworkProbe::CompareWith(
    const std::vector<RowAlone>& alone, const std::vector<Row>& rows,
    Network& network, Precision precision) const {
  const bool is_fp32 = precision == Precision::kFp32;
  const double tolerance = is_fp32 ? kRowsTolerance : kRowsTolerance16;
  const ModelOptions staged = StagedIn(precision);
  const int64_t count = std::ssize(rows);
  Values together;
  if (absl::Status status = Forward(network, device_, staged, rows, together);
      !status.ok()) {
    return status;
  }
  const auto has_rows = [&](const c10::IValue& output) {
    return HasRows(output, count);
  };
  if (std::none_of(together.begin(), together.end(), has_rows)) {
    return absl::FailedPreconditionError("none of its outputs is of numbers");
  }
  // The scale is that of all rows: rounding is large beside one that is almost
  // zero.
  Differences none(options_.spec);
  const Values floats = Only(/*floats=*/true, together);
  none.Add(floats, floats, 0);
  for (const RowAlone& one : alone) {
    const Values scale = Only(/*floats=*/true, one.outputs);
    none.Add(scale, scale, 0);
  }
  const auto error = [&](const Values& expected, const Values& found,
                         int64_t least_count) {
    Differences differences = none;
    differences.Add(expected, found, 0);
    return differences.Largest(least_count);
  };
  RowsFound result;
  if (const auto unlike =
          std::find_if_not(together.begin(), together.end(), has_rows);
      unlike != together.end()) {
    const auto output = static_cast<size_t>(unlike - together.begin());
    result.why_unsure =
        absl::StrCat("output '", options_.spec.outputs[output].name,
                     "' has no numbers for each row");
  }
  for (int64_t row = 0; row < count; ++row) {
    for (const RowAlone& one : alone) {
      if (!AreAlike(rows[static_cast<size_t>(row)], one.row)) {
        continue;
      }
      const Values beside = RowsOf(together, row, 1, count);
      const Values by_itself = RowsOf(one.outputs, 0, 1, 1);
      const ProbeError off =
          error(beside, by_itself, is_fp32 ? 1 : kFewIntegers);
      if (off.share > tolerance) {
        Values again;
        if (Forward(network, device_, staged, rows, again).ok() &&
            error(together, again, is_fp32 ? 1 : kFewIntegers).share <=
                tolerance) {
          return RowsFound{.mixed_output =
                               options_.spec.outputs[off.output].name};
        }
        return RowsFound{.why_unsure =
                             "it gives other answers each time, as what draws "
                             "numbers does"};
      }
      // Either of two almost alike may be the larger: it tells nothing.
      if (const ProbeError differs =
              error(Only(/*floats=*/false, beside), by_itself, 1);
          differs.share > 0) {
        result.why_unsure = absl::StrCat(
            "integers of output '", options_.spec.outputs[differs.output].name,
            "' differ for a row alone");
        result.integers_differ = true;
      }
    }
  }
  return result;
}

}  // namespace ferry

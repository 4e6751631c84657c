// Implements ForwardGraphs: runs, records and launches forwards.
#include "models/torch/device/forward_graphs.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "models/torch/output_difference.h"

namespace ferry {
namespace {

// Kernels that sum up in any order give almost the same; what a graph reads
// from the wrong place is not almost right.
constexpr double kTolerance = 0.05;

void Count(std::atomic<uint64_t>& counter) {
  counter.fetch_add(1, std::memory_order_relaxed);
}

Values OnHost(const Values& values) {
  Values copies = values;
  for (c10::IValue& value : copies) {
    if (value.isTensor()) {
      value = value.toTensor().to(at::kCPU, /*non_blocking=*/false,
                                  /*copy=*/true);
    }
  }
  return copies;
}

// A forward may write to what it is given.
void PutBack(const Values& values, const Values& copies) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].isTensor()) {
      values[i].toTensor().copy_(copies[i].toTensor());
    }
  }
}

// Writes other values than those expected to where a graph is to write, so that
// what it leaves out shows. What stands where the network's own output stands
// is an input, or a weight.
void Spoil(const Values& recorded, const Values& outputs,
           const Values& expected) {
  for (size_t i = 0; i < std::min(recorded.size(), outputs.size()); ++i) {
    if (!recorded[i].isTensor() || !outputs[i].isTensor() ||
        recorded[i].toTensor().is_alias_of(outputs[i].toTensor())) {
      continue;
    }
    const at::Tensor of = expected[i].toTensor();
    const at::Tensor other = of.is_floating_point() ? at::full_like(of, NAN)
                             : of.scalar_type() == at::kBool ? of.logical_not()
                                                             : of + 1;
    if (other.sizes() == recorded[i].toTensor().sizes()) {
      recorded[i].toTensor().copy_(other);
    }
  }
}

}  // namespace

ForwardGraphs::ForwardGraphs(Network& network, DeviceStreams& streams,
                             bool is_on)
    : network_(network), streams_(streams), is_on_(is_on) {}

ForwardGraphs::Key ForwardGraphs::KeyOf(const Values& inputs) {
  Key key;
  for (const c10::IValue& input : inputs) {
    if (!input.isTensor()) {
      key.push_back(-1);
      continue;
    }
    const at::Tensor& tensor = input.toTensor();
    key.push_back(reinterpret_cast<int64_t>(tensor.const_data_ptr()));
    key.push_back(tensor.dim());
    key.insert(key.end(), tensor.sizes().begin(), tensor.sizes().end());
  }
  return key;
}

absl::Status ForwardGraphs::Forward(const Values& inputs, Values& outputs) {
  if (!is_on_) {
    Count(counts_.off);
    return network_.Forward(inputs, outputs);
  }
  const Key key = KeyOf(inputs);
  auto found = entries_.find(key);
  if (found == entries_.end() && is_warming_up_) {
    found = entries_.emplace(key, Entry()).first;
  }
  if (found == entries_.end()) {
    Count(counts_.other_sizes);
    return network_.Forward(inputs, outputs);
  }
  Entry& entry = found->second;
  if (entry.graph == nullptr && entry.why_not.empty() && is_warming_up_ &&
      entry.eager_runs >= kEagerRuns) {
    Record(inputs, entry);
  }
  if (entry.graph == nullptr) {
    Count(counts_.not_recorded);
    return RunEagerly(inputs, outputs, entry);
  }
  entry.graph->Launch();
  Count(counts_.launched);
  outputs = entry.outputs;
  return absl::OkStatus();
}

absl::Status ForwardGraphs::RunEagerly(const Values& inputs, Values& outputs,
                                       Entry& entry) {
  const uint64_t drawn = streams_.DrawnSoFar();
  const absl::Status status = network_.Forward(inputs, outputs);
  ++entry.eager_runs;
  entry.drawing_runs += streams_.DrawnSoFar() == drawn ? 0 : 1;
  return status;
}

void ForwardGraphs::Record(const Values& inputs, Entry& entry) {
  // Others may draw at the same time, but not each time.
  if (entry.drawing_runs == entry.eager_runs) {
    entry.why_not = "it draws random numbers";
    return;
  }
  const Values given = OnHost(inputs);
  Values outputs;
  auto graph = streams_.Capture(
      [this, inputs](Values& of) { return network_.Forward(inputs, of); },
      outputs);
  // What fails here may still run eagerly, as it has done.
  const absl::Status status =
      graph.ok() ? Prove(inputs, given, outputs, **graph) : graph.status();
  if (status.ok()) {
    entry.graph = *std::move(graph);
    entry.outputs = std::move(outputs);
  } else {
    entry.why_not = std::string(status.message());
  }
}

absl::Status ForwardGraphs::Prove(const Values& inputs, const Values& given,
                                  const Values& recorded, DeviceGraph& graph) {
  PutBack(inputs, given);  // whether or not it was recorded alone
  Values outputs;
  if (absl::Status status = network_.Forward(inputs, outputs); !status.ok()) {
    return status;
  }
  const Values expected = OnHost(outputs);
  Spoil(recorded, outputs, expected);
  PutBack(inputs, given);
  graph.Launch();
  const Values found = OnHost(recorded);
  PutBack(inputs, given);
  OutputDifference difference;
  for (size_t i = 0; i < expected.size(); ++i) {
    difference.Add(expected[i], i < found.size() ? found[i] : c10::IValue());
  }
  const double share = difference.share();
  return share <= kTolerance
             ? absl::OkStatus()
             : absl::InternalError(absl::StrCat(
                   "its graph gives other values than the network, off by ",
                   share, " of the largest"));
}

std::string ForwardGraphs::EndWarmUp() {
  is_warming_up_ = false;
  counts_.not_recorded = 0;
  counts_.launched = 0;
  counts_.off = 0;
  for (const auto& [key, entry] : entries_) {
    if (!entry.why_not.empty()) {
      return entry.why_not;
    }
  }
  return "";
}

size_t ForwardGraphs::size() const {
  return static_cast<size_t>(std::count_if(
      entries_.begin(), entries_.end(),
      [](const auto& one) { return one.second.graph != nullptr; }));
}

}  // namespace ferry

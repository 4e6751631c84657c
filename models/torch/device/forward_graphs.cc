// Implements ForwardGraphs: runs, records and launches forwards.
#include "models/torch/device/forward_graphs.h"

#include <ATen/Functions.h>
#include <ATen/MemoryOverlap.h>

#include <algorithm>
#include <cstring>
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

// A forward may write to what it is given.
void PutBack(const Values& values, const Values& copies) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].isTensor()) {
      values[i].toTensor().copy_(copies[i].toTensor());
    }
  }
}

// Fills where a graph is to write with bytes of 0xFF, of floats NaN, so that
// what it leaves out shows. What stands where the network's own output stands
// is an input, or a weight; elements that stand twice cannot be written.
void Spoil(const Values& recorded, const Values& outputs) {
  for (size_t i = 0; i < std::min(recorded.size(), outputs.size()); ++i) {
    if (!recorded[i].isTensor() || !outputs[i].isTensor() ||
        recorded[i].toTensor().is_alias_of(outputs[i].toTensor()) ||
        at::has_internal_overlap(recorded[i].toTensor()) !=
            at::MemOverlap::No) {
      continue;
    }
    const at::Tensor& to = recorded[i].toTensor();
    const at::Tensor other = at::empty(to.sizes(), to.scalar_type());
    std::memset(other.data_ptr(), 0xFF, other.nbytes());
    to.copy_(other);
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
    ++entry.eager_runs;
    Count(counts_.not_recorded);
    return network_.Forward(inputs, outputs);
  }
  entry.graph->Launch();
  Count(counts_.launched);
  outputs = entry.outputs;
  return absl::OkStatus();
}

void ForwardGraphs::Record(const Values& inputs, Entry& entry) {
  std::unique_ptr<DeviceGraph> graph;
  Values outputs;
  // What fails here may still run eagerly, as it has done.
  const absl::Status status = Guarded([&]() -> absl::Status {
    const Values given = OnHost(inputs);
    auto recorded = streams_.Capture(
        [this, inputs](Values& of) { return network_.Forward(inputs, of); },
        outputs);
    if (!recorded.ok()) {
      PutBack(inputs, given);  // it may have run after all
      return recorded.status();
    }
    graph = *std::move(recorded);
    const absl::Status proven =
        Guarded([&] { return Prove(inputs, given, outputs, *graph); });
    PutBack(inputs, given);
    return proven;
  });
  if (status.ok()) {
    entry.graph = std::move(graph);
    entry.outputs = std::move(outputs);
  } else {
    entry.why_not = std::string(status.message());
  }
}

absl::Status ForwardGraphs::Prove(const Values& inputs, const Values& given,
                                  const Values& recorded, DeviceGraph& graph) {
  PutBack(inputs, given);
  Values outputs;
  if (absl::Status status = network_.Forward(inputs, outputs); !status.ok()) {
    return status;
  }
  const Values expected = OnHost(outputs);
  Spoil(recorded, outputs);
  PutBack(inputs, given);
  graph.Launch();
  const Values found = OnHost(recorded);
  double share = 0;  // of the output that is off most
  for (size_t i = 0; i < expected.size(); ++i) {
    OutputDifference difference;
    difference.Add(expected[i], i < found.size() ? found[i] : c10::IValue());
    share = std::max(share, difference.share());
  }
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

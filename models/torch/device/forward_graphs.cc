// Implements ForwardGraphs: runs, records and launches forwards.
#include "models/torch/device/forward_graphs.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <utility>

namespace ferry {
namespace {

void Count(std::atomic<uint64_t>& counter) {
  counter.fetch_add(1, std::memory_order_relaxed);
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
  absl::Status status;
  Values outputs;
  auto graph =
      streams_.Capture([&] { status = network_.Forward(inputs, outputs); });
  // What fails here may still run eagerly, as it has done.
  status.Update(graph.status());
  if (status.ok()) {
    entry.graph = *std::move(graph);
    entry.outputs = std::move(outputs);
  } else {
    entry.why_not = std::string(status.message());
  }
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

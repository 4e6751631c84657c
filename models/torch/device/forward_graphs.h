// ForwardGraphs runs a network on a device, each batch size as a graph where it
// can be one: the host then starts one thing instead of one a kernel.
//
// A graph is recorded in warm-up, once the network has run some times with
// inputs of those sizes at those addresses, and kept where it gives what the
// network gives for the same inputs; a batch of other sizes, and one without a
// graph, runs eagerly and is counted. A network that draws random numbers has
// none, as nothing could be compared.
//
// What a graph gives is overwritten when any graph of the network is launched:
// it is to be read by what is put on kCompute before that.
//
// Thread safety: thread-compatible, but for counts().
// Errors: throws what LibTorch throws.
#ifndef FERRY_MODELS_TORCH_DEVICE_FORWARD_GRAPHS_H_
#define FERRY_MODELS_TORCH_DEVICE_FORWARD_GRAPHS_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "models/torch/device/device_runtime.h"
#include "models/torch/network.h"

namespace ferry {

class ForwardGraphs {
 public:
  // Runs before a graph is recorded: libraries choose kernels and allocate.
  static constexpr int kEagerRuns = 3;

  struct Counts {
    std::atomic<uint64_t> launched{0};
    std::atomic<uint64_t> off{0};           // graphs are not wanted
    std::atomic<uint64_t> not_recorded{0};  // the forward cannot be one
    std::atomic<uint64_t> other_sizes{0};   // than those of warm-up
  };

  // Both outlive it. `is_on`: whether graphs are wanted at all.
  ForwardGraphs(Network& network, DeviceStreams& streams, bool is_on);

  // Puts a forward on kCompute. REQUIRES: in DeviceStreams::Run() of it.
  absl::Status Forward(const Values& inputs, Values& outputs);

  // From now on nothing is recorded. Returns why some sizes have no graph, or
  // nothing.
  std::string EndWarmUp();

  const Counts& counts() const { return counts_; }
  size_t size() const;  // of the graphs that there are

 private:
  // Where inputs stand, and of which sizes.
  using Key = std::vector<int64_t>;

  struct Entry {
    int eager_runs = 0;
    std::unique_ptr<DeviceGraph> graph;
    Values outputs;
    std::string why_not;
  };

  static Key KeyOf(const Values& inputs);
  void Record(const Values& inputs, Entry& entry);
  // Launches the new graph, and says what is wrong with what it gives.
  // `given`: what stands in the inputs, and stands there again afterwards.
  absl::Status Prove(const Values& inputs, const Values& given,
                     const Values& recorded, DeviceGraph& graph);

  Network& network_;
  DeviceStreams& streams_;
  const bool is_on_;
  bool is_warming_up_ = true;
  std::map<Key, Entry> entries_;
  Counts counts_;
};

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_DEVICE_FORWARD_GRAPHS_H_

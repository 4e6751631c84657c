// DeviceOutputs brings a batch's outputs from what a network gives on the
// device to memory of the host that replies read.
//
// They are cast to the type on the wire on the device, into a room of the
// batch's place, so that the next batch may compute while they are copied out.
// Rows that padding made longer are cut on the host.
//
// Thread safety: Put() and CopyOut() from the thread that starts batches,
// Finish() from the one that waits.
// Errors: throws what LibTorch throws, and std::bad_alloc.
#ifndef FERRY_MODELS_TORCH_DEVICE_DEVICE_OUTPUTS_H_
#define FERRY_MODELS_TORCH_DEVICE_DEVICE_OUTPUTS_H_

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "batcher/batch.h"
#include "models/config/model_options.h"
#include "models/torch/device/device_input.h"
#include "models/torch/device/device_runtime.h"
#include "models/torch/device/staging_memory.h"
#include "models/torch/network.h"
#include "tensor/host_memory.h"
#include "tensor/host_output_pool.h"

namespace ferry {

class DeviceOutputs {
 public:
  // The memory of one place.
  struct Room {
    explicit Room(HostMemory& memory) : to_cut(memory) {}

    at::Tensor device;              // bytes
    std::vector<int64_t> row_dims;  // of the batch that is there
    HostRoom to_cut;                // of an output that follows an input
  };
  struct Rooms {
    std::vector<Room> outputs;     // [spec output]
    const Batch* batch = nullptr;  // its rows are to be cut
    OutputRef buffer = {};
  };

  // The options and the streams outlive it. `device`: where networks give them.
  DeviceOutputs(const ModelOptions& options, at::Device device,
                std::shared_ptr<StagingMemory> memory, DeviceStreams& streams);

  Rooms MakeRooms();

  // Starts to cast what the network gave for `rows` of the batch. An error
  // where it is elsewhere than on the device, or pieces of a batch differ in
  // shape. REQUIRES: in DeviceStreams::Run() of kCompute; the outputs fit
  // (OutputFit); the device reads `rooms` no more.
  absl::Status Put(const Batch& batch, const RowRange& rows,
                   const Values& outputs, Rooms& rooms);

  // Starts to copy what was put to a buffer that it takes.
  void CopyOut(const Batch& batch, Rooms& rooms, OutputRef& output);

  // Takes the memory for all replies that may be under way, of the sizes that
  // were copied out so far.
  void EndWarmUp();

  // Nothing is to be made of what was copied out.
  static void Forget(Rooms& rooms);

  // Makes the buffer what replies read. REQUIRES: it is copied out; the batch
  // is still there.
  void Finish(Rooms& rooms);

 private:
  const ModelOptions& options_;
  const at::Device device_;
  DeviceStreams& streams_;
  const std::shared_ptr<StagingMemory> memory_;
  HostOutputPool pool_;
  std::vector<size_t> most_bytes_;  // [spec output], copied out of a batch
};

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_DEVICE_DEVICE_OUTPUTS_H_

// DeviceInput brings one input to a device: from the requests' bytes to what
// the network takes, without a pass over them on the host but the gather.
//
// Rows go as they came: gathered into memory that the device reads, copied, and
// cast or normalized there. What the network takes stands at one place, the
// same for all batches, so that a graph finds it.
//
// Thread safety: thread-compatible; used on the thread that starts batches.
// Errors: throws what LibTorch throws.
#ifndef FERRY_MODELS_TORCH_DEVICE_DEVICE_INPUT_H_
#define FERRY_MODELS_TORCH_DEVICE_DEVICE_INPUT_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "batcher/batch.h"
#include "models/config/model_options.h"
#include "models/torch/device/device_runtime.h"
#include "models/torch/device/staging_memory.h"
#include "models/torch/network.h"
#include "tensor/host_memory.h"

namespace ferry {

// Rows [first, first + count) of a batch, and those that fill them up to
// `padded`.
struct RowRange {
  int32_t first = 0;
  int32_t count = 0;
  int32_t padded = 0;
};

class DeviceInput {
 public:
  // A batch's rows as on the wire, on both sides.
  struct Wire {
    explicit Wire(HostMemory& memory) : host(memory) {}

    HostRoom host;
    at::Tensor device;  // bytes
  };

  // All outlive it. `index`: of options.spec.inputs.
  DeviceInput(const ModelOptions& options, size_t index, const Network& network,
              StagingMemory& memory, DeviceStreams& streams);

  // Makes room for the largest batch, where shapes are fixed.
  void Reserve(Wire& wire);

  // Gathers the batch's rows, and starts to copy them. Nothing where its
  // requests leave the input out. REQUIRES: the device uses `wire` no more.
  void CopyIn(const Batch& batch, Wire& wire);

  // Starts to make of some of the rows what the network takes, zeros where they
  // end, and returns it; none where it is left out. Valid for what is put on
  // kCompute until the next call. REQUIRES: in
  // DeviceStreams::Run() of kCompute.
  c10::IValue Stage(const Batch& batch, const RowRange& rows, Wire& wire);

 private:
  void ReserveWire(size_t bytes, Wire& wire);
  // Returns elements of the largest row that graphs find at the same place.
  int64_t MostRowElements(absl::Span<const int64_t> row_dims) const;
  // A view of `rows` rows of the room, as the network takes them.
  at::Tensor Place(int32_t rows, absl::Span<const int64_t> row_dims);
  void Convert(const Batch& batch, const RowRange& rows, const void* from,
               const at::Tensor& to);

  const ModelOptions& options_;
  const size_t index_;
  const TensorSpec& spec_;
  const at::ScalarType type_;     // that the network takes
  const bool has_channels_last_;  // images, where the network wants them so
  StagingMemory& memory_;
  DeviceStreams& streams_;
  // Flat. What graphs read stays where it is; rows that are larger than those
  // of warm-up have a room of their own.
  at::Tensor staged_;
  at::Tensor larger_;
};

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_DEVICE_DEVICE_INPUT_H_

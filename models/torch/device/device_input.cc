// Implements DeviceInput: gathers on the host, converts on the device.
#include "models/torch/device/device_input.h"

#include <algorithm>
#include <vector>

#include "batcher/row_gather.h"
#include "models/torch/shapes.h"
#include "models/torch/staged_input.h"
#include "models/torch/types.h"
#include "tensor/padding.h"

namespace ferry {
namespace {

constexpr size_t kImageDims = 3;  // channels, height, width

int32_t MostRows(const ModelOptions& options) {
  return std::max(options.spec.max_batch_size, 1);
}

}  // namespace

DeviceInput::DeviceInput(const ModelOptions& options, size_t index,
                         const Network& network, StagingMemory& memory,
                         DeviceStreams& streams)
    : options_(options),
      index_(index),
      spec_(options.spec.inputs[index]),
      type_(StagedType(options, index, network.input_type(index))),
      has_channels_last_(network.takes_channels_last(index) &&
                         options.spec.max_batch_size > 0 &&
                         ModelRow(options, index, spec_.dims).size() ==
                             kImageDims),
      memory_(memory),
      streams_(streams) {}

void DeviceInput::Reserve(Wire& wire) {
  if (VaryingDim(spec_.dims).has_value()) {
    return;
  }
  ReserveWire(static_cast<size_t>(MostRows(options_)) *
                  RowBytes(spec_.type, spec_.dims),
              wire);
}

void DeviceInput::ReserveWire(size_t bytes, Wire& wire) {
  wire.host.Reserve(bytes);
  streams_.Run(DeviceStream::kCopyIn, [&] {
    memory_.Reserve(wire.device, static_cast<int64_t>(bytes), at::kByte);
  });
}

void DeviceInput::CopyIn(const Batch& batch, Wire& wire) {
  if (!batch.is_given(index_)) {
    return;
  }
  const size_t bytes = static_cast<size_t>(batch.rows()) *
                       RowBytes(spec_.type, batch.row_dims(index_));
  ReserveWire(bytes, wire);
  std::byte* const to = wire.host.data();
  if (!spec_.pads.empty() && IsPadded(batch, index_)) {
    GatherPaddedRows(batch, index_, spec_.type, *VaryingDim(spec_.dims), to);
  } else {
    GatherRows(batch, index_, to);
  }
  if (bytes > 0) {
    streams_.Copy(to, wire.device.data_ptr(), bytes, DeviceStream::kCopyIn);
  }
}

c10::IValue DeviceInput::Stage(const Batch& batch, const RowRange& rows,
                               Wire& wire) {
  if (!batch.is_given(index_)) {
    return {};
  }
  const absl::Span<const int64_t> row_dims = batch.row_dims(index_);
  const at::Tensor placed = Place(rows.padded, row_dims);
  const size_t skipped =
      static_cast<size_t>(rows.first) * RowBytes(spec_.type, row_dims);
  if (placed.numel() > 0) {
    Convert(batch, rows,
            static_cast<const std::byte*>(wire.device.data_ptr()) + skipped,
            placed);
  }
  if (rows.padded > rows.count) {
    placed.narrow(0, rows.count, rows.padded - rows.count).zero_();
  }
  return placed;
}

void DeviceInput::Convert(const Batch& batch, const RowRange& rows,
                          const void* from, const at::Tensor& to) {
  const absl::Span<const int64_t> row_dims = batch.row_dims(index_);
  const Elements staged = {to.data_ptr(), type_};
  if (!options_.normalizations.empty() &&
      options_.normalizations[index_].has_value()) {
    streams_.Normalize(
        *options_.normalizations[index_],
        {.from = static_cast<const uint8_t*>(from),
         .images = rows.count,
         .row_dims = row_dims,
         .to = staged,
         .to_channels =
             has_channels_last_ ? ChannelPlace::kLast : ChannelPlace::kFirst});
    return;
  }
  const at::ScalarType wire = WireType(spec_.type);
  if (has_channels_last_) {
    streams_.PutChannelsLast({.from = {const_cast<void*>(from), wire},
                              .to = staged,
                              .images = rows.count,
                              .channels = to.size(1),
                              .pixels = to.size(2) * to.size(3)});
    return;
  }
  streams_.Cast({const_cast<void*>(from), wire}, staged,
                rows.count * RowElements(row_dims));
}

int64_t DeviceInput::MostRowElements(absl::Span<const int64_t> row_dims) const {
  if (spec_.pads.empty()) {
    return RowElements(row_dims);
  }
  std::vector<int64_t> dims = spec_.dims;
  dims[*VaryingDim(dims)] = spec_.pads.back();
  return std::max(RowElements(row_dims), RowElements(dims));
}

at::Tensor DeviceInput::Place(int32_t rows,
                              absl::Span<const int64_t> row_dims) {
  const int64_t elements = rows * RowElements(row_dims);
  if (!staged_.defined()) {
    memory_.Reserve(staged_, MostRows(options_) * MostRowElements(row_dims),
                    type_);
  }
  at::Tensor& room = elements <= staged_.numel() ? staged_ : larger_;
  memory_.Reserve(room, elements, type_);
  const at::Tensor flat = room.narrow(0, 0, elements);
  const std::vector<int64_t> shape =
      Shape(options_.spec.max_batch_size > 0, rows,
            ModelRow(options_, index_, row_dims));
  if (has_channels_last_) {
    return flat.view({shape[0], shape[2], shape[3], shape[1]})
        .permute({0, 3, 1, 2});
  }
  return flat.view(shape);
}

}  // namespace ferry

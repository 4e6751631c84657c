// Implements DeviceOutputs: casts, copies and cuts outputs.
#include "models/torch/device/device_outputs.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "models/torch/cut_rows.h"
#include "models/torch/shapes.h"
#include "models/torch/types.h"

namespace ferry {
namespace {

// The pool keeps as many as replies may hold: to allocate such memory stops the
// device.
constexpr int32_t kMaxIdleOutputs = HostOutputPool::kMaxShared;
// The most memory that is taken for a model's replies before there are any.
constexpr size_t kMostReserved = size_t{256} << 20;

size_t ToBytes(DataType type, int32_t rows, absl::Span<const int64_t> dims) {
  return static_cast<size_t>(rows) * RowBytes(type, dims);
}

}  // namespace

DeviceOutputs::DeviceOutputs(const ModelOptions& options, at::Device device,
                             std::shared_ptr<StagingMemory> memory,
                             DeviceStreams& streams)
    : options_(options),
      device_(device),
      streams_(streams),
      memory_(std::move(memory)),
      pool_(options.spec.outputs.size(), kMaxIdleOutputs,
            HostOutputPool::kMaxShared, memory_),
      most_bytes_(options.spec.outputs.size()) {}

DeviceOutputs::Rooms DeviceOutputs::MakeRooms() {
  Rooms rooms;
  for (size_t i = 0; i < options_.spec.outputs.size(); ++i) {
    rooms.outputs.emplace_back(*memory_);
  }
  return rooms;
}

absl::Status DeviceOutputs::Put(const Batch& batch, const RowRange& rows,
                                const Values& outputs, Rooms& rooms) {
  const bool has_rows = options_.spec.max_batch_size > 0;
  for (size_t i = 0; i < rooms.outputs.size(); ++i) {
    const TensorSpec& spec = options_.spec.outputs[i];
    const at::Tensor& all = outputs[i].toTensor();
    if (all.device() != device_) {
      return absl::InvalidArgumentError(
          absl::StrCat("output '", spec.name, "': expected on ", device_.str(),
                       ", the model gives it on ", all.device().str()));
    }
    // Rows that only filled the bucket come after those of the batch.
    const at::Tensor own =
        (has_rows && all.size(0) != rows.count ? all.narrow(0, 0, rows.count)
                                               : all)
            .contiguous();
    const at::IntArrayRef dims = has_rows ? own.sizes().slice(1) : own.sizes();
    Room& room = rooms.outputs[i];
    if (rows.first == 0) {
      room.row_dims.assign(dims.begin(), dims.end());
      memory_->Reserve(
          room.device,
          static_cast<int64_t>(ToBytes(spec.type, batch.rows(), room.row_dims)),
          at::kByte);
    } else if (SpanOf(dims) != absl::MakeConstSpan(room.row_dims)) {
      return absl::InternalError(absl::StrCat(
          "output '", spec.name, "' of a part of a batch: expected rows of [",
          absl::StrJoin(room.row_dims, ","), "], got [",
          absl::StrJoin(dims, ","), "]"));
    }
    if (own.numel() > 0) {
      std::byte* const to = static_cast<std::byte*>(room.device.data_ptr()) +
                            ToBytes(spec.type, rows.first, room.row_dims);
      streams_.Cast({own.data_ptr(), own.scalar_type()},
                    {to, ToScalarType(spec.type)}, own.numel());
    }
  }
  return absl::OkStatus();
}

void DeviceOutputs::CopyOut(const Batch& batch, Rooms& rooms,
                            OutputRef& output) {
  output = pool_.Take();
  for (size_t i = 0; i < rooms.outputs.size(); ++i) {
    const TensorSpec& spec = options_.spec.outputs[i];
    Room& room = rooms.outputs[i];
    const size_t bytes = ToBytes(spec.type, batch.rows(), room.row_dims);
    most_bytes_[i] = std::max(most_bytes_[i], bytes);
    std::byte* to = nullptr;
    if (spec.follows.has_value()) {
      to = room.to_cut.Reserve(bytes);
    } else {
      HostOutputPool::Layout(*output.get(), i, batch.rows(), spec.type,
                             room.row_dims);
      to = output->mutable_tensors()[i].data;
    }
    if (bytes > 0) {
      streams_.Copy(room.device.data_ptr(), to, bytes, DeviceStream::kCopyOut);
    }
  }
  rooms.buffer = output;
  rooms.batch = &batch;
}

void DeviceOutputs::EndWarmUp() {
  const size_t bytes =
      std::accumulate(most_bytes_.begin(), most_bytes_.end(), size_t{0});
  const size_t count = std::min(static_cast<size_t>(kMaxIdleOutputs),
                                kMostReserved / std::max<size_t>(bytes, 1));
  std::vector<OutputRef> taken(count);
  for (OutputRef& buffer : taken) {
    buffer = pool_.Take();
    for (size_t i = 0; i < most_bytes_.size(); ++i) {
      HostOutputPool::LayoutBytes(*buffer.get(), i, most_bytes_[i], {});
    }
  }
}

void DeviceOutputs::Forget(Rooms& rooms) {
  rooms.buffer = {};
  rooms.batch = nullptr;
}

void DeviceOutputs::Finish(Rooms& rooms) {
  const OutputRef buffer = std::exchange(rooms.buffer, {});
  const Batch* const batch = std::exchange(rooms.batch, nullptr);
  if (batch == nullptr) {
    return;
  }
  for (size_t i = 0; i < rooms.outputs.size(); ++i) {
    const TensorSpec& spec = options_.spec.outputs[i];
    if (!spec.follows.has_value()) {
      continue;
    }
    const Room& room = rooms.outputs[i];
    const at::Tensor padded = at::from_blob(
        room.to_cut.data(),
        Shape(options_.spec.max_batch_size > 0, batch->rows(), room.row_dims),
        ToScalarType(spec.type));
    CopyCutRows(*batch, options_.spec, i, padded, *buffer.get());
  }
}

}  // namespace ferry

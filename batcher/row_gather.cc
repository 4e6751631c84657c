// Implements GatherRows: copies segments of bytes behind each other.
#include "batcher/row_gather.h"

#include <algorithm>
#include <cstring>

#include "tensor/padding.h"

namespace ferry {

size_t GatheredBytes(const Batch& batch, size_t input) {
  size_t bytes = 0;
  for (const Batch::Entry& entry : batch.entries()) {
    for (const ByteSegment& segment : entry.request->inputs[input].segments) {
      bytes += segment.size;
    }
  }
  return bytes;
}

std::byte* GatherRows(const Batch& batch, size_t input, std::byte* to) {
  for (const Batch::Entry& entry : batch.entries()) {
    for (const ByteSegment& segment : entry.request->inputs[input].segments) {
      if (segment.size > 0) {  // rows without elements have no room to copy to
        std::memcpy(to, segment.data, segment.size);
        to += segment.size;
      }
    }
  }
  return to;
}

void GatherPieces(const Batch& batch, size_t input, absl::Span<std::byte> room,
                  absl::FunctionRef<void(absl::Span<const std::byte>)> use) {
  size_t filled = 0;
  for (const Batch::Entry& entry : batch.entries()) {
    for (ByteSegment segment : entry.request->inputs[input].segments) {
      while (segment.size > 0) {
        const size_t count = std::min(segment.size, room.size() - filled);
        std::memcpy(room.data() + filled, segment.data, count);
        segment = {segment.data + count, segment.size - count};
        filled += count;
        if (filled == room.size()) {
          use(room);
          filled = 0;
        }
      }
    }
  }
  if (filled > 0) {
    use(room.subspan(0, filled));
  }
}

bool IsPadded(const Batch& batch, size_t input) {
  return std::any_of(batch.entries().begin(), batch.entries().end(),
                     [&](const Batch::Entry& entry) {
                       const TensorView& view = entry.request->inputs[input];
                       return view.dims != view.batch_dims();
                     });
}

std::byte* GatherPaddedRows(const Batch& batch, size_t input, DataType type,
                            size_t varying, std::byte* to) {
  const absl::Span<const int64_t> padded = batch.row_dims(input);
  const size_t index_bytes =
      static_cast<size_t>(ChunksOf(padded, varying).inner) * ElementSize(type);
  for (const Batch::Entry& entry : batch.entries()) {
    const TensorView& view = entry.request->inputs[input];
    to = CopyPadded(view.segments,
                    static_cast<size_t>(view.dims[varying]) * index_bytes,
                    static_cast<size_t>(padded[varying]) * index_bytes, to);
  }
  return to;
}

}  // namespace ferry

// Copying runs of bytes behind each other.
#include "batcher/row_gather.h"

#include <algorithm>
#include <cstring>

namespace ferry {

size_t GatheredBytes(const Batch& batch, size_t input) {
  size_t bytes = 0;
  for (const Batch::Entry& entry : batch.entries()) {
    for (const Run& run : entry.request->inputs[input].runs) {
      bytes += run.size;
    }
  }
  return bytes;
}

std::byte* GatherRows(const Batch& batch, size_t input, std::byte* to) {
  for (const Batch::Entry& entry : batch.entries()) {
    for (const Run& run : entry.request->inputs[input].runs) {
      if (run.size > 0) {  // rows without elements have no room to copy to
        std::memcpy(to, run.data, run.size);
        to += run.size;
      }
    }
  }
  return to;
}

void GatherPieces(const Batch& batch, size_t input, absl::Span<std::byte> room,
                  absl::FunctionRef<void(absl::Span<const std::byte>)> use) {
  size_t filled = 0;
  for (const Batch::Entry& entry : batch.entries()) {
    for (Run run : entry.request->inputs[input].runs) {
      while (run.size > 0) {
        const size_t count = std::min(run.size, room.size() - filled);
        std::memcpy(room.data() + filled, run.data, count);
        run = {run.data + count, run.size - count};
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

}  // namespace ferry

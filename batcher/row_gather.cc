// Copying runs of bytes behind each other.
#include "batcher/row_gather.h"

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

}  // namespace ferry

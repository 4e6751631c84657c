// Counting and copying.
#include "batcher/run_reader.h"

#include <cstring>

namespace ferry {

RunReader::RunReader(absl::Span<const Run> runs) : runs_(runs) {
  for (const Run& run : runs) {
    left_ += run.size;
  }
  SkipEmptyRuns();
}

bool RunReader::Copy(size_t bytes, std::byte* to) {
  return ForEach(bytes, [&](const Run& piece) {
    std::memcpy(to, piece.data, piece.size);
    to += piece.size;
  });
}

}  // namespace ferry

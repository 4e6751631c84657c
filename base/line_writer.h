// LineWriter writes lines to a file descriptor from a thread of its own, so
// that whatever reads there, or does not, holds up no other thread.
//
// Lines wait in a queue that is bounded in bytes; a line that finds it full is
// dropped. Once lines are written again, one among them says how many were.
//
// Progress: Write() waits for nothing and takes no lock but the allocator's.
// FlushBy() waits as long as it is told. Only the writer's thread is ever
// within write(), which may not end: it is left behind when the LineWriter
// goes, and ends with the process.
//
// Thread safety: thread-safe. The descriptor may be shared with other
// processes: it is not made non-blocking.
#ifndef FERRY_BASE_LINE_WRITER_H_
#define FERRY_BASE_LINE_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"

namespace ferry {

// What a LineWriter writes where it had to drop `count` lines.
using DroppedText = std::function<std::string(uint64_t count)>;

class LineWriter {
 public:
  // Holds at most `max_bytes` of lines that are not written yet.
  LineWriter(int fd, size_t max_bytes, DroppedText dropped_text);

  // Its thread writes what is queued, and ends.
  ~LineWriter();

  // Queues a line, or several that belong together, with their line ends.
  void Write(std::string line);

  // Waits until all that was queued before is written, at most until then, and
  // returns whether it is. Takes no lock: a handler of signals may call it.
  bool FlushBy(TimePoint until) const;

  // Lines that were not written, and will not be.
  uint64_t dropped() const;

 private:
  struct State;

  const std::shared_ptr<State> state_;  // its thread may outlive this
};

}  // namespace ferry

#endif  // FERRY_BASE_LINE_WRITER_H_

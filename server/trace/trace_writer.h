// TraceWriter keeps traces of requests until a thread of its own writes them:
// each period, earlier where kMany wait, or where Flush() asks for it.
//
// Bounds: kMaxWaiting traces wait; more are dropped and counted. No other
// thread waits for the writing, but in Flush() and, for kFarewell, in the
// destructor: a thread that writes for longer is left behind with what it has.
//
// Thread safety: thread-safe.
#ifndef FERRY_SERVER_TRACE_TRACE_WRITER_H_
#define FERRY_SERVER_TRACE_TRACE_WRITER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "server/trace/request_trace.h"

namespace ferry {

class TraceWriter {
 public:
  static constexpr size_t kMaxWaiting = 8192;
  static constexpr size_t kMany = kMaxWaiting / 2;
  static constexpr Duration kPeriod = std::chrono::seconds(1);
  static constexpr Duration kNoPeriod = Duration::max();
  static constexpr Duration kFarewell = std::chrono::milliseconds(200);

  // Gets those that waited, oldest first, or none at the end of a period. It
  // owns all that it uses. What it throws of std::bad_alloc drops them.
  using Write = std::function<void(std::deque<RequestTrace>)>;

  // `thread_name` has at most 15 characters, as the system wants it. `period`
  // may be kNoPeriod.
  TraceWriter(const std::string& thread_name, Write write,
              Duration period = kPeriod);
  ~TraceWriter();

  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  void Keep(RequestTrace trace);

  // Returns when what was kept before is written, or at `until`.
  void Flush(TimePoint until);

  uint64_t dropped() const;

 private:
  class State;

  const std::shared_ptr<State> state_;  // the thread's too
  std::thread thread_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_TRACE_TRACE_WRITER_H_

// Completion receives the result of one request.
//
// Guarantee (G1): after Scheduler::Submit() accepted a request, Respond() is
// called exactly once, on success, failure, deadline, cancel, drain or
// shutdown. It is the scheduler's last touch of the request: within the call
// the owner may free the request or submit it again.
//
// Where a part of a request larger than a batch fails while others run,
// FailEarly() says so at once; the running parts still use the request, and
// Respond() follows with the same outcome when the last has ended.
//
// Thread safety: both are called from a thread of an instance, from the
// scheduler's timer, or within a call of Scheduler, never while a lock of the
// scheduler is held. They wait for short locks at most. They may submit other
// requests; they may not destroy the scheduler.
#ifndef FERRY_BATCHER_COMPLETION_H_
#define FERRY_BATCHER_COMPLETION_H_

#include <cstdint>

#include "absl/status/status.h"
#include "base/clock.h"
#include "tensor/output_buffer.h"

namespace ferry {

// How a request or a batch ended. It crosses threads, so it is plain: an
// absl::Status would carry a shared, reference-counted text.
struct Outcome {
  absl::StatusCode code = absl::StatusCode::kOk;
  const char* text = "";  // lives as long as the process
  // Finds the line of the log that says why, where there is one; else 0.
  uint32_t reason = 0;

  bool ok() const { return code == absl::StatusCode::kOk; }
};

// The result of one request: its rows if the outcome is ok, else none.
struct RequestResult {
  Outcome outcome;
  OutputRows rows;        // borrowed for the call: an OutputRef keeps them
  Duration compute{0};    // its rows' part of the compute of their batches
  bool has_time = false;  // the calling thread, to encode and send a reply
  const class Batch* batch = nullptr;  // its last; null: it was in none
};

class Completion {
 public:
  virtual void Respond(const RequestResult& result) = 0;

  // Once at most, before Respond(). `outcome` is not ok. By default nothing:
  // the result is told when the request is free again.
  virtual void FailEarly(const Outcome&) {}

 protected:
  ~Completion() = default;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_COMPLETION_H_

// Completion: the end of a request, seen from the one who sent it.
//
// Guarantees (G1):
//   1. After Submit() accepted a request, Respond(.., Last::kYes) is called
//      exactly once, on success, failure, deadline, cancel, drain or shutdown.
//   2. Released() is called exactly once, after that Respond() has returned
//      and after a Cancel() that was under way has been consumed: from then on
//      nothing in the batcher points to the request.
//
// Thread safety: both are called from a thread of the batcher or the backend,
// or within any call of Batcher, on its caller's thread; never while a lock of
// the batcher is held. They never block. Respond may call Batcher::Submit() for
// another request, but not Batcher::ServeInline(), as the lane may be this
// thread's. Neither may destroy the batcher.
#ifndef FERRY_BATCHER_COMPLETION_H_
#define FERRY_BATCHER_COMPLETION_H_

#include "absl/status/status.h"
#include "batcher/output_buffer.h"

namespace ferry {

// How a request or a batch ended. Crosses threads, so it is plain: an
// absl::Status would carry a shared, reference-counted text.
struct Outcome {
  absl::StatusCode code = absl::StatusCode::kOk;
  const char* text = "";  // lives as long as the process

  bool ok() const { return code == absl::StatusCode::kOk; }
};

enum class Last { kNo, kYes };

class Completion {
 public:
  virtual void Respond(Outcome outcome, OutputRows rows, Last last) = 0;
  virtual void Released() = 0;

 protected:
  ~Completion() = default;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_COMPLETION_H_

// InferCall: one ModelInfer, from its bytes to its end. Knows nothing of the
// transport; GrpcInferCall is that.
//
// Life of a call, all of it on the queue's thread but Respond:
//   Matched()   decodes, submits; or fails, and the transport sends the error
//   Respond()   from the scheduler, which no longer points here: the transport
//               sends the reply (any thread)
//   Sent()      the transport has written the reply, or never will
//   Done()      the transport is done with the call; it may have been
//               cancelled, then the scheduler is told
// and then Recycle(), once, by the last of them.
//
// Guarantees:
//   1. Exactly one of SendReply and SendError is called for each Matched().
//   2. Recycle() comes after Sent(), Done() and, where the scheduler accepted
//      the request, Respond(), in whatever order these come: a count of
//      references.
//   3. The received bytes are kept until Respond(), or until Recycle() where
//      there is none.
//
// Thread safety: Matched and Done come from one thread, one after the other.
// Sent comes from any, after SendReply or SendError was called, or in it.
// Respond may come at any time after the submit, also while Matched runs.
#ifndef FERRY_SERVER_INFER_CALL_H_
#define FERRY_SERVER_INFER_CALL_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "batcher/clock.h"
#include "batcher/completion.h"
#include "batcher/infer_request.h"
#include "server/infer_codec.h"
#include "server/model_table.h"
#include "server/status.h"

namespace ferry {

// What all calls of a queue share; outlives them.
struct InferEnvironment {
  // Both are the queue's thread's.
  ModelTableView& models;
  StatusCodes codes = StatusCodes::kFerry;
  const Clock& clock = Clock::Steady();
};

enum class Cancelled { kNo, kYes };

// Moves the message's slices out of it. INVALID_ARGUMENT where there is none.
absl::Status TakeSlices(grpc::ByteBuffer& message,
                        std::vector<grpc::Slice>& slices);

class InferCall : private Completion {
 public:
  explicit InferCall(const InferEnvironment& environment)
      : environment_(environment) {}
  InferCall(const InferCall&) = delete;
  InferCall& operator=(const InferCall&) = delete;

  void Matched();
  void Sent() { Unref(); }
  void Done(Cancelled cancelled);

 protected:
  ~InferCall() = default;

  // Of the request, until Recycle(); empty before it is known.
  const std::string& id() const { return decoder_.id(); }
  const RequestParameters& parameters() const { return decoder_.parameters(); }

 private:
  // --- the transport ---
  // Fills `slices` with the message; they hold its bytes.
  virtual absl::Status TakeMessage(std::vector<grpc::Slice>& slices) = 0;
  // kNever where the client gave none.
  virtual TimePoint Deadline() const = 0;
  // Both come back as Sent(), also when the client is gone. What `reply` holds
  // is taken over.
  virtual void SendReply(grpc::ByteBuffer& reply) = 0;
  virtual void SendError(const grpc::Status& status,
                         std::optional<int64_t> retry_pushback_ms) = 0;
  // The call is over: it may be deleted or used for the next one.
  virtual void Recycle() = 0;

  // --- Completion ---
  void Respond(const RequestResult& result) override;

  // Where the queue's thread is, and whether the scheduler still has the
  // request. The last of the two ends the use of the model: a client that does
  // not read its reply keeps no model in memory.
  enum class AtScheduler : uint8_t { kInside, kOutside, kAnswered };

  absl::Status Start();
  absl::Status Submit();
  void Send(const RequestResult& result);
  void LeaveScheduler();
  void Unref();
  void DropMessage();
  void Clear();

  const InferEnvironment& environment_;
  std::vector<grpc::Slice> slices_;
  std::vector<Run> runs_;  // into slices_
  InferDecoder decoder_;
  InferRequest request_;
  ModelUse entry_;  // none until the model is known; until LeaveScheduler()
  std::atomic<AtScheduler> at_scheduler_{AtScheduler::kOutside};
  bool is_submitted_ = false;  // the queue's thread only
  // The transport has two until Sent() and Done(), the scheduler has one from
  // Submit() to Respond().
  std::atomic<int32_t> references_{0};
};

}  // namespace ferry

#endif  // FERRY_SERVER_INFER_CALL_H_

// InferCall carries one inference from its received bytes to its reply;
// AnsweredCalls brings it back to its thread.
//
// Life of a call, all of it on the thread of its completion queue but
// Respond():
//   Start()     decodes and submits; or fails, and sends the error
//   FailEarly() a thread of the scheduler's: sends the error of a request, of
//               which a part still runs
//   Respond()   such a thread: keeps the result, sends it where that thread has
//               the time, and hands the call to AnsweredCalls
//   Finish()    sends the result unless it was sent
//
// Guarantees:
//   1. The transport gets exactly one reply or error for each Start().
//   2. The received bytes are kept until then.
//   3. Ended, the call keeps no model loaded and nothing of its request: a
//      client that does not read its reply keeps neither in memory.
//
// Thread safety: FailEarly() and Respond() may come at any time after the
// submit, also while Start() or Cancel() runs. They change only what they write
// for Finish(). The rest is the queue's thread's.
#ifndef FERRY_SERVER_GRPC_INFER_CALL_H_
#define FERRY_SERVER_GRPC_INFER_CALL_H_

#include <grpc/support/time.h>
#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/push_list.h"
#include "batcher/completion.h"
#include "batcher/infer_request.h"
#include "server/codec/infer_codec.h"
#include "server/control/client_shares.h"
#include "server/control/memory_guard.h"
#include "server/control/model_table.h"
#include "server/grpc/queue_tag.h"
#include "server/grpc/status.h"
#include "server/trace/trace_context.h"
#include "server/trace/tracer.h"
#include "tensor/output_buffer.h"

namespace ferry {

class AnsweredCalls;

// Returns a deadline of gRPC's as a moment of Ferry's clock; kNever where there
// is none. gRPC's monotonic clock and Ferry's are CLOCK_MONOTONIC.
TimePoint ToTimePoint(gpr_timespec deadline);

// What all calls of a queue share; outlives them.
struct InferEnvironment {
  ModelTableView& models;  // the queue's thread's
  AnsweredCalls& answered;
  StatusCodes codes = StatusCodes::kFerry;
  Tracer* tracer = nullptr;             // null: nothing is traced
  const MemoryGuard* memory = nullptr;  // null: there is always enough
  // Null: clients have no names, and share nothing.
  ClientShares* shares = nullptr;
  const SharedRegions* regions = nullptr;  // null: shared memory is not offered
  uint64_t max_region_bytes = 0;           // of a request
  std::function<std::string(const grpc::ServerContext&)> name_of_client = {};
};

// InferTransport sends what a call answers: one reply or error, on any thread,
// and then Ended().
class InferTransport {
 public:
  // Takes over what `reply` holds.
  virtual void SendReply(grpc::ByteBuffer& reply) = 0;
  virtual void SendError(const grpc::Status& status,
                         std::optional<int64_t> retry_pushback_ms) = 0;

  // The error was sent of a call that goes on until a batch ends; the same
  // thread.
  virtual void FailedEarly() {}

  // No thread but the queue's, which calls it, touches the call any more. The
  // call is ready for the next request.
  virtual void Ended() = 0;

 protected:
  ~InferTransport() = default;
};

class InferCall final : private Completion {
 public:
  // Both outlive the call.
  InferCall(const InferEnvironment& environment, InferTransport& transport)
      : environment_(environment), transport_(transport) {}
  InferCall(const InferCall&) = delete;
  InferCall& operator=(const InferCall&) = delete;

  // Says by which RPC the request comes, and whose it is: before Start(). `rpc`
  // has begun, and is not kept.
  void ComeBy(const grpc::ServerContext& rpc);

  // Takes the message. `deadline`: of the client, or kNever.
  void Start(grpc::ByteBuffer& message, TimePoint deadline);

  // The client no longer wants the answer. It comes all the same.
  void Cancel();

  // Ends a call that was answered. Called by AnsweredCalls.
  void Finish();

  // Returns the request's id, until the call has ended; empty before it is
  // known.
  const std::string& id() const { return decoder_.id(); }

  InferCall* next_answered = nullptr;  // of AnsweredCalls

 private:
  // Any thread. The error is sent at once; the request is still used.
  void FailEarly(const Outcome& outcome) override;
  void Respond(const RequestResult& result) override;

  // Decodes the message and submits the request.
  absl::Status Submit(grpc::ByteBuffer& message, TimePoint deadline);
  absl::Status Decode(grpc::ByteBuffer& message);
  // Says whether there is memory for the request, and takes what it needs of
  // its client's share.
  absl::Status Admit();
  // Encodes the result and sends it, or its error.
  void Send();
  void DropMessage();
  // Drops what is left of the request, and tells the transport.
  void End();
  // The request has ended, in that batch or in none.
  void Trace(absl::StatusCode code, const Batch* batch);

  const InferEnvironment& environment_;
  InferTransport& transport_;
  std::vector<grpc::Slice> slices_;
  std::vector<ByteSegment> segments_;  // into slices_
  InferDecoder decoder_;
  InferRequest request_;
  ModelUse entry_;  // none before the model is known, and once it is finished
  bool is_submitted_ = false;  // and not finished
  // Its name; empty: it has none, as a stream whose token is gone from the
  // file.
  std::string client_;
  ClientShares::Hold hold_;  // of the client's share, until it is answered

  // Where it is traced.
  Tracer::Begun begun_;
  std::string peer_;        // for an access log
  bool is_parsed_ = false;  // the model's name is this request's

  // Written by FailEarly() and Respond(), read by Finish().
  RequestResult result_;
  OutputRef output_;  // keeps result_.rows
  bool is_sent_ = false;
};

// AnsweredCalls brings calls that a scheduler has answered back to the thread
// of their completion queue, which sends what is not sent, and ends the call.
//
// So one thread alone begins, cancels, ends and clears a call. To bring it back
// costs the batcher thread a push, and an event of gRPC's for the first of
// several: two short locks and a write to an eventfd.
//
// Why no call is forgotten: Push() pushes, then asks for an event unless one is
// under way; the event says that none is under way, then the thread takes what
// was pushed. So a call that was pushed after the thread looked asks anew.
// A thread that stops between push and event delays those that push after it
// until it goes on, or another event comes.
//
// Thread safety: Push() from any thread, the rest on the queue's thread.
class AnsweredCalls final : private QueueTag {
 public:
  // The queue outlives this.
  explicit AnsweredCalls(grpc::CompletionQueue& queue) : queue_(queue) {}

  // REQUIRES: the queue is not shut down.
  void Push(InferCall& call);

  // Waits until each Push() that has begun has returned. Before the queue is
  // shut down: its thread may finish a call whose event is still being asked
  // for.
  void AwaitPushes() const;

  // Finishes the calls that were pushed, oldest first. The queue's thread calls
  // it before each of its events, so that an answer is not kept waiting by what
  // has just been received.
  void FinishAll();

 private:
  void Ended(bool) override {
    is_event_under_way_.store(false, std::memory_order_seq_cst);
    FinishAll();
  }

  grpc::CompletionQueue& queue_;
  PushList<InferCall, &InferCall::next_answered> calls_;
  std::atomic<bool> is_event_under_way_{false};
  std::atomic<int32_t> pushes_{0};  // that have begun and not returned
  grpc::Alarm event_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_GRPC_INFER_CALL_H_

// InferStream: one ModelStreamInfer, from its first request to its end.
//
// The requests of a stream are served side by side, as unary ones are, and
// answered in the order in which they came. An error goes in band, in
// `error_message` beside the request's id, and the stream goes on; a client
// that sent the metadata `triton_grpc_error: true` has it as the stream's
// status instead, which ends the stream.
//
// Bounds: at most kMaxUnanswered requests of a stream are read and not
// answered, and none more is read while kMaxWaitingBytes of answers wait for
// their turn or for the client to read.
//
// Life: posted; matched with a client's, when it posts the next one; it ends
// when the client has no more requests and all are answered, or with its
// cancel; and deletes itself when gRPC and the scheduler are done with all of
// it: a count of holds.
//
// Thread safety: gRPC's events come on the queue's thread, answers from any.
// One lock a stream keeps the order and one write at a time.
#ifndef FERRY_SERVER_INFER_STREAM_H_
#define FERRY_SERVER_INFER_STREAM_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "batcher/mutex.h"
#include "server/infer_call.h"
#include "server/queue_tag.h"
#include "server/unsent_replies.h"

namespace ferry {

using InferStreamResponder =
    grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;

// Where streams come from: the service's RequestModelStreamInfer.
class InferStreamSource {
 public:
  virtual void RequestStream(grpc::ServerContext& context,
                             InferStreamResponder& responder,
                             grpc::ServerCompletionQueue& queue, void* tag) = 0;

 protected:
  ~InferStreamSource() = default;
};

class InferStream {
 public:
  // Calls kept to be used again.
  static constexpr size_t kMaxIdle = 32;
  static constexpr size_t kMaxUnanswered = 1024;
  static constexpr size_t kMaxWaitingBytes = size_t{16} << 20;

  // What all streams of a queue share; outlives them.
  struct Environment {
    const InferEnvironment& infer;
    UnsentReplies& unsent;
    InferStreamSource& source;
    grpc::ServerCompletionQueue& queue;
  };

  // Asks for the next stream of any client; it deletes itself.
  static void Post(const Environment& environment) {
    new InferStream(environment);
  }

 private:
  class Item;  // one request of the stream

  using Tag = MemberTag<InferStream>;

  // How the client wants to be told errors.
  enum class Errors : uint8_t { kInBand, kEndTheStream };

  explicit InferStream(const Environment& environment);
  ~InferStream();

  // --- gRPC's events, on the queue's thread ---
  void OnMatched(bool ok);
  void OnRead(bool ok);
  void OnWritten(bool ok);
  void OnFinished(bool ok);
  void OnDone(bool ok);

  // --- the items, on any thread ---
  void Answered(Item& item, grpc::ByteBuffer& message,
                const grpc::Status& status);
  void GiveBack(Item& item);

  // Null where the stream ends and takes no more requests.
  Item* TakeItem() ABSL_LOCKS_EXCLUDED(mutex_);
  void ReadNext();
  // Reads on, or waits until it is time.
  void ReadNextIfThereIsRoom() ABSL_LOCKS_EXCLUDED(mutex_);
  // Writes the oldest answer, or the stream's end, if it is time.
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Finish(const grpc::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeHold() { holds_.fetch_add(1, std::memory_order_relaxed); }
  void DropHold();

  const Environment& environment_;
  grpc::ServerContext context_;
  InferStreamResponder responder_{&context_};
  Tag matched_{*this, &InferStream::OnMatched};
  Tag read_{*this, &InferStream::OnRead};
  Tag written_{*this, &InferStream::OnWritten};
  Tag finished_{*this, &InferStream::OnFinished};
  Tag done_{*this, &InferStream::OnDone};
  std::atomic<int32_t> holds_{0};

  // --- the queue's thread ---
  grpc::ByteBuffer message_;  // the one that is read
  Errors errors_ = Errors::kInBand;
  TimePoint deadline_ = kNever;
  bool is_reading_paused_ = false;  // and not over

  Mutex mutex_;
  // Read and not being written, oldest first.
  std::deque<Item*> unanswered_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of answers
  std::vector<std::unique_ptr<Item>> idle_ ABSL_GUARDED_BY(mutex_);
  bool has_all_requests_ ABSL_GUARDED_BY(mutex_) = false;
  Item* written_item_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool is_finishing_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;  // nobody listens any more
};

}  // namespace ferry

#endif  // FERRY_SERVER_INFER_STREAM_H_

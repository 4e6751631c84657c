// InferStream serves one ModelStreamInfer, from its first request to its end.
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
// when the client has no more requests and all are answered, with UNAVAILABLE
// when the server drains and all are answered, or with its cancel; and deletes
// itself when gRPC's events have come and its items are answered.
//
// Thread safety: all on the queue's thread, but Drop() of an item, and what
// keeps an item's answer.
#ifndef FERRY_SERVER_GRPC_INFER_STREAM_H_
#define FERRY_SERVER_GRPC_INFER_STREAM_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "server/grpc/infer_call.h"
#include "server/grpc/queue_tag.h"
#include "server/grpc/unsent_replies.h"

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

  // Those of a queue that are matched.
  struct OpenStreams {
    std::unordered_set<InferStream*> streams;
    bool must_end = false;  // also those that come later
  };

  // What all streams of a queue share; outlives them.
  struct Environment {
    const InferEnvironment& infer;
    UnsentReplies& unsent;
    InferStreamSource& source;
    grpc::ServerCompletionQueue& queue;
    OpenStreams& open;
  };

  // Asks for the next stream of any client; it deletes itself.
  static void Post(const Environment& environment) {
    new InferStream(environment);
  }

  // Ends the stream with UNAVAILABLE once what it asked for is answered. It
  // does not delete itself within this call.
  void EndSoon() { WriteNext(); }

 private:
  class Item;  // one request of the stream

  using Tag = MemberTag<InferStream>;

  // How the client wants to be told errors.
  enum class Errors : uint8_t { kInBand, kEndTheStream };

  explicit InferStream(const Environment& environment);
  ~InferStream();

  // --- gRPC's events ---
  void OnMatched(bool ok);
  void OnRead(bool ok);
  void OnWritten(bool ok);
  void OnFinished(bool ok);
  void OnDone(bool ok);

  // --- the items ---
  // Its answer is there; it may have been before.
  void Answered(Item& item);
  // One of its uses has ended: by its call, or for its answer.
  void GiveBack(Item& item);

  // Null where the stream ends and takes no more requests.
  Item* TakeItem();
  void ReadNext();
  // Reads on, or waits until it is time.
  void ReadNextIfThereIsRoom();
  // Writes the oldest answer, or the stream's end, if it is time.
  void WriteNext();
  void Finish(const grpc::Status& status);
  // Events and items that come back to the stream.
  void Expect() { ++expected_; }
  void Came();

  const Environment& environment_;
  grpc::ServerContext context_;
  InferStreamResponder responder_{&context_};
  Tag matched_{*this, &InferStream::OnMatched};
  Tag read_{*this, &InferStream::OnRead};
  Tag written_{*this, &InferStream::OnWritten};
  Tag finished_{*this, &InferStream::OnFinished};
  Tag done_{*this, &InferStream::OnDone};
  int32_t expected_ = 0;

  grpc::ByteBuffer message_;  // the one that is read
  Errors errors_ = Errors::kInBand;
  TimePoint deadline_ = kNever;
  bool is_reading_paused_ = false;  // and not over

  std::deque<Item*> unanswered_;  // read and not being written, oldest first
  size_t waiting_bytes_ = 0;      // of answers
  std::vector<std::unique_ptr<Item>> idle_;
  bool has_all_requests_ = false;
  Item* written_item_ = nullptr;
  bool is_finishing_ = false;
  bool is_over_ = false;  // the client is gone, or has all it gets
};

}  // namespace ferry

#endif  // FERRY_SERVER_GRPC_INFER_STREAM_H_

// QueueTag is what a completion queue of gRPC gives back when an operation has
// ended; it knows what to do next.
//
// QueuedService is a service with its calls served on completion queues. No
// service of Ferry uses gRPC's callback API: one such method and gRPC starts
// threads that compete with the queues' for the sockets
// (docs/decisions/0009-no-callback-methods.md).
#ifndef FERRY_SERVER_GRPC_QUEUE_TAG_H_
#define FERRY_SERVER_GRPC_QUEUE_TAG_H_

#include <grpcpp/completion_queue.h>

namespace ferry {

class QueueTag {
 public:
  // The operation has ended; `ok` as gRPC says it. Called on the queue's
  // thread; may delete the tag.
  virtual void Ended(bool ok) = 0;

 protected:
  ~QueueTag() = default;
};

// Calls a member function of `Owner`, in which it is embedded.
template <typename Owner>
class MemberTag final : public QueueTag {
 public:
  MemberTag(Owner& owner, void (Owner::*event)(bool ok))
      : owner_(owner), event_(event) {}
  void Ended(bool ok) override { (owner_.*event_)(ok); }
  void* get() { return static_cast<QueueTag*>(this); }

 private:
  Owner& owner_;
  void (Owner::*const event_)(bool ok);
};

class QueuedService {
 public:
  // Asks on `queue` for the first call of each RPC; each call asks for the next
  // one. Called on the queue's thread, before it takes the first tag.
  virtual void PostCalls(grpc::ServerCompletionQueue& queue) = 0;

 protected:
  ~QueuedService() = default;
};

}  // namespace ferry

#endif  // FERRY_SERVER_GRPC_QUEUE_TAG_H_

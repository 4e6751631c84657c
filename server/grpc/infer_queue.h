// InferQueue is one completion queue of gRPC and the thread that serves it with
// ModelInfer calls, with ModelStreamInfer streams, and with the small calls of
// all services.
//
// Unary calls are kept and used again, so steady state allocates nothing but
// what gRPC itself does. kPostedCalls wait ahead of the clients; each one
// matched posts the next.
//
// Stopping: gRPC's server is shut down first, which gives the calls that were
// never matched back and waits for the others. Then Stop(). The thread itself
// shuts its queue down, so nothing is posted to a queue that is shut down.
//
// Thread safety: created, told and stopped by one thread; calls come back to it
// on its own.
#ifndef FERRY_SERVER_GRPC_INFER_QUEUE_H_
#define FERRY_SERVER_GRPC_INFER_QUEUE_H_

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/server_builder.h>

#include <atomic>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "server/grpc/grpc_infer_call.h"
#include "server/grpc/infer_call.h"
#include "server/grpc/infer_stream.h"
#include "server/grpc/queue_tag.h"

namespace ferry {

class InferQueue final : private InferCallPool {
 public:
  // Where the queue's calls come from.
  struct Sources {
    InferRpcSource& calls;
    InferStreamSource& streams;
    const EndpointLoad* load = nullptr;      // what replies tell; null: nothing
    Tracer* tracer = nullptr;                // null: nothing is traced
    const MemoryGuard* memory = nullptr;     // null: there is always enough
    ClientShares* shares = nullptr;          // null: clients have no names
    const SharedRegions* regions = nullptr;  // null: it is not offered
    uint64_t max_region_bytes = 0;           // of a request
    std::function<std::string(const grpc::ServerContext&)> name_of_client = {};
  };

  // REQUIRES: the builder has not started its server yet; all others outlive
  // the queue.
  InferQueue(ModelTable& models, StatusCodes codes, const Sources& sources,
             UnsentReplies& unsent, std::vector<QueuedService*> others,
             grpc::ServerBuilder& builder);

  // REQUIRES: stopped, or never started.
  ~InferQueue();

  // REQUIRES: the server is started.
  void Start();

  // Ends the streams, also those that come later (InferStream::EndSoon()). At
  // most once, between Start() and Stop().
  void EndStreams();

  // Returns the processor time of its thread so far; 0 once that has ended.
  // REQUIRES: started.
  Duration cpu_time() const;

  // Returns when its thread last took the alarm that the queue gives it once in
  // ThreadWatch::kTurn. Any thread.
  TimePoint turned() const { return turned_.load(std::memory_order_relaxed); }

  // Waits until every call has ended. REQUIRES: the server is shut down, and
  // the schedulers have answered all they accepted.
  void Stop();

 private:
  static constexpr int kPostedCalls = 64;
  static constexpr size_t kMaxIdleCalls = 1024;

  void GiveBack(GrpcInferCall& call) override;
  void PostNext() override;
  void Run();
  void OnEndStreams(bool ok);
  void OnTurn(bool ok);

  ModelTableView models_;
  InferRpcSource& service_;
  const EndpointLoad* const load_;
  UnsentReplies& unsent_;
  const std::vector<QueuedService*> others_;
  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  AnsweredCalls answered_;
  const InferEnvironment environment_;
  InferStream::OpenStreams open_streams_;
  const InferStream::Environment stream_environment_;
  MemberTag<InferQueue> end_streams_{*this, &InferQueue::OnEndStreams};
  grpc::Alarm end_streams_alarm_;
  MemberTag<InferQueue> turn_{*this, &InferQueue::OnTurn};
  grpc::Alarm turn_alarm_;
  std::atomic<TimePoint> turned_{Clock::Steady().Now()};
  bool is_stopping_ = false;  // the thread only
  grpc::Alarm stop_alarm_;
  std::vector<std::unique_ptr<GrpcInferCall>> idle_;
  std::thread thread_;
  clockid_t cpu_clock_ = 0;  // the thread's
};

}  // namespace ferry

#endif  // FERRY_SERVER_GRPC_INFER_QUEUE_H_

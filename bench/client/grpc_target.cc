// Implements GrpcTarget: generic asynchronous unary calls on completion queues.
#include "bench/client/grpc_target.h"

#include <grpcpp/alarm.h>

#include <algorithm>
#include <list>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/client/model_client.h"

namespace ferry::bench {
namespace {

constexpr char kMethod[] = "/inference.GRPCInferenceService/ModelInfer";

std::vector<double> WeightsOf(const std::vector<ClassRequests>& classes) {
  std::vector<double> weights;
  for (const ClassRequests& one : classes) {
    weights.push_back(one.weight);
  }
  return weights;
}

}  // namespace

// One channel, and the calls under way on it.
struct GrpcTarget::Connection {
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<grpc::GenericStub> stub;
  grpc::CompletionQueue* queue = nullptr;
  Mutex mutex;
  std::list<Rpc*> running ABSL_GUARDED_BY(mutex);
};

// What a completion queue hands back.
class GrpcTarget::Tag {
 public:
  virtual void Done() = 0;

 protected:
  ~Tag() = default;
};

// One call, from its start to its last tag; deletes itself. Its tags come from
// one queue, and so on one thread.
class GrpcTarget::Rpc final : public Tag {
 public:
  Rpc(Connection& connection, Caller& caller)
      : connection_(connection), caller_(caller) {}

  // `cancel_after`: cancels it then; nothing: never.
  void Start(const ConnectionOptions& options, const grpc::ByteBuffer& request,
             Duration deadline, std::optional<Duration> cancel_after) {
    AddHeaders(options, context_);
    if (deadline > Duration::zero()) {
      context_.set_deadline(DeadlineIn(deadline));
    }
    reader_ = connection_.stub->PrepareUnaryCall(&context_, kMethod, request,
                                                 connection_.queue);
    reader_->StartCall();
    {
      MutexLock lock(connection_.mutex);
      place_ = connection_.running.insert(connection_.running.end(), this);
    }
    if (cancel_after.has_value()) {
      tags_ = 2;
      timer_.emplace(*this);
      timer_->alarm.Set(connection_.queue, DeadlineIn(*cancel_after),
                        static_cast<Tag*>(&*timer_));
    }
    // The last touch: the queue's thread may end and delete this at once.
    reader_->Finish(&reply_, &status_, static_cast<Tag*>(this));
  }

  void Cancel() { context_.TryCancel(); }

  // It has ended.
  void Done() override {
    {
      MutexLock lock(connection_.mutex);
      connection_.running.erase(place_);
    }
    if (timer_.has_value()) {
      timer_->alarm.Cancel();
    }
    Caller& caller = caller_;
    const auto code = static_cast<absl::StatusCode>(status_.error_code());
    DropTag();
    caller.Ended(code);
  }

 private:
  // When the client has had enough; or it was cancelled, as the call has ended.
  class Timer final : public Tag {
   public:
    explicit Timer(Rpc& its_rpc) : rpc(its_rpc) {}

    void Done() override {
      rpc.Cancel();
      rpc.DropTag();
    }

    Rpc& rpc;
    grpc::Alarm alarm;
  };

  void DropTag() {
    if (--tags_ == 0) {
      delete this;
    }
  }

  Connection& connection_;
  Caller& caller_;
  int tags_ = 1;
  std::list<Rpc*>::iterator place_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader_;
  grpc::ByteBuffer reply_;
  grpc::Status status_;
  std::optional<Timer> timer_;
};

absl::StatusOr<std::unique_ptr<GrpcTarget>> GrpcTarget::Create(
    const GrpcTargetOptions& options, std::vector<ClassRequests> classes,
    Duration connect_limit) {
  const bool has_requests =
      !classes.empty() &&
      std::none_of(classes.begin(), classes.end(), [](const auto& one) {
        return one.requests.empty() || one.weight <= 0;
      });
  if (options.connections < 1 || options.queues < 1 ||
      options.number_step < 1 || !has_requests) {
    return absl::InvalidArgumentError(
        "expected at least one connection, one queue, a step from number to "
        "number, one class, and one request and a weight of each");
  }
  std::unique_ptr<GrpcTarget> target(
      new GrpcTarget(options, std::move(classes)));
  if (absl::Status status = target->Connect(connect_limit); !status.ok()) {
    return status;
  }
  return target;
}

GrpcTarget::GrpcTarget(const GrpcTargetOptions& options,
                       std::vector<ClassRequests> classes)
    : options_(options),
      classes_(std::move(classes)),
      picker_(WeightsOf(classes_)) {
  for (int32_t i = 0; i < options_.queues; ++i) {
    queues_.push_back(std::make_unique<grpc::CompletionQueue>());
    threads_.emplace_back([queue = queues_.back().get()] { Serve(queue); });
  }
  for (int32_t i = 0; i < options_.connections; ++i) {
    auto connection = std::make_unique<Connection>();
    connection->channel = MakeChannel(options_.address, options_.connection);
    connection->stub = std::make_unique<grpc::GenericStub>(connection->channel);
    connection->queue = queues_[static_cast<size_t>(i) % queues_.size()].get();
    connections_.push_back(std::move(connection));
  }
}

GrpcTarget::~GrpcTarget() {
  CancelAll();
  for (auto& queue : queues_) {
    queue->Shutdown();
  }
  for (auto& thread : threads_) {
    thread.join();
  }
}

absl::Status GrpcTarget::Connect(Duration limit) {
  const gpr_timespec until = DeadlineIn(limit);
  for (auto& connection : connections_) {
    if (!connection->channel->WaitForConnected(until)) {
      return absl::UnavailableError(
          absl::StrCat("no server answers at ", options_.address));
    }
  }
  return absl::OkStatus();
}

void GrpcTarget::Send(uint64_t number, Caller& caller) {
  Connection& connection =
      *connections_[number / options_.number_step % connections_.size()];
  const ClassRequests& one = classes_[ClassOf(number)];
  auto* const rpc = new Rpc(connection, caller);
  rpc->Start(options_.connection, one.requests[number % one.requests.size()],
             one.deadline,
             ClassPicker::IsOfShare(number, one.cancel_share)
                 ? std::optional(one.cancel_after)
                 : std::nullopt);
}

void GrpcTarget::CancelAll() {
  for (auto& connection : connections_) {
    MutexLock lock(connection->mutex);
    for (Rpc* const rpc : connection->running) {
      rpc->Cancel();
    }
  }
}

void GrpcTarget::Serve(grpc::CompletionQueue* queue) {
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) {
    static_cast<Tag*>(tag)->Done();
  }
}

}  // namespace ferry::bench

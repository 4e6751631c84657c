// Generic asynchronous unary calls on completion queues.
#include "bench/grpc_target.h"

#include <list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "batcher/check.h"
#include "bench/model_client.h"

namespace ferry::bench {
namespace {

constexpr char kMethod[] = "/inference.GRPCInferenceService/ModelInfer";

}  // namespace

// One channel, and the calls under way on it.
struct GrpcTarget::Connection {
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<grpc::GenericStub> stub;
  grpc::CompletionQueue* queue = nullptr;
  Mutex mutex;
  std::list<Rpc*> running ABSL_GUARDED_BY(mutex);
};

// One call, from its start to its only tag; deletes itself.
class GrpcTarget::Rpc {
 public:
  Rpc(Connection& connection, Caller& caller)
      : connection_(connection), caller_(caller) {}

  void Start(const grpc::ByteBuffer& request, Duration deadline) {
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
    // The last touch: the queue's thread may end and delete this at once.
    reader_->Finish(&reply_, &status_, this);
  }

  void Cancel() { context_.TryCancel(); }

  void End() {
    {
      MutexLock lock(connection_.mutex);
      connection_.running.erase(place_);
    }
    Caller& caller = caller_;
    const auto code = static_cast<absl::StatusCode>(status_.error_code());
    delete this;
    caller.Ended(code);
  }

 private:
  Connection& connection_;
  Caller& caller_;
  std::list<Rpc*>::iterator place_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader_;
  grpc::ByteBuffer reply_;
  grpc::Status status_;
};

absl::StatusOr<std::unique_ptr<GrpcTarget>> GrpcTarget::Create(
    const GrpcTargetOptions& options, std::vector<grpc::ByteBuffer> requests,
    Duration connect_limit) {
  if (options.connections < 1 || options.queues < 1 || requests.empty()) {
    return absl::InvalidArgumentError(
        "expected at least one connection, one queue and one request");
  }
  std::unique_ptr<GrpcTarget> target(
      new GrpcTarget(options, std::move(requests)));
  if (absl::Status status = target->Connect(connect_limit); !status.ok()) {
    return status;
  }
  return target;
}

GrpcTarget::GrpcTarget(const GrpcTargetOptions& options,
                       std::vector<grpc::ByteBuffer> requests)
    : options_(options), requests_(std::move(requests)) {
  for (int32_t i = 0; i < options_.queues; ++i) {
    queues_.push_back(std::make_unique<grpc::CompletionQueue>());
    threads_.emplace_back([queue = queues_.back().get()] { Serve(queue); });
  }
  for (int32_t i = 0; i < options_.connections; ++i) {
    auto connection = std::make_unique<Connection>();
    connection->channel = grpc::CreateCustomChannel(
        options_.address, grpc::InsecureChannelCredentials(),
        BenchChannelArguments());
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
  Connection& connection = *connections_[number % connections_.size()];
  auto* const rpc = new Rpc(connection, caller);
  rpc->Start(requests_[number % requests_.size()], options_.deadline);
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
    Check(ok, "the finish of a client call always succeeds");
    static_cast<Rpc*>(tag)->End();
  }
}

}  // namespace ferry::bench

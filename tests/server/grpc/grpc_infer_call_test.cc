// Tests that every call on a completion queue of gRPC's ends once, whenever its
// answer, its cancel and its deadline come: real clients, queues and
// schedulers, and threads of their own for all of them.
#include "server/grpc/grpc_infer_call.h"

#include <grpcpp/alarm.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "batcher/cpu_instance.h"
#include "batcher/sim/simulated_model.h"
#include "proto/inference.pb.h"
#include "tests/server/borrowed_models.h"
#include "tests/server/codec/message_bytes.h"

// gRPC is not compiled for ThreadSanitizer, which sees neither its locks nor
// what its queues hand from thread to thread. So its libraries are left out,
// and what they call; the queue's loop and all that it calls is Ferry's.
extern "C" const char* __tsan_default_suppressions() {
  return "race:libgrpc\n"
         "race:libabsl\n"
         "called_from_lib:libgrpc.so\n"
         "called_from_lib:libgrpc++.so\n"
         "called_from_lib:libgpr.so\n"
         "called_from_lib:libabsl_cord.so\n"
         "called_from_lib:libabsl_graphcycles_internal.so\n"
         "called_from_lib:libabsl_status.so\n"
         "called_from_lib:libabsl_strings.so\n"
         "called_from_lib:libabsl_synchronization.so\n"
         "called_from_lib:libabsl_time.so\n"
         "called_from_lib:libabsl_time_zone.so\n";
}

namespace ferry {
namespace {

constexpr int kCalls = 4000;
constexpr size_t kMaxOpen = 32;  // at once, of the client
constexpr int kPosted = 8;
constexpr char kMethod[] = "/inference.GRPCInferenceService/ModelInfer";

// ModelInfer alone.
class Service final : public grpc::Service, public InferRpcSource {
 public:
  Service() {
    AddMethod(new grpc::internal::RpcServiceMethod(
        kMethod, grpc::internal::RpcMethod::NORMAL_RPC, nullptr));
    MarkMethodRaw(0);
  }

  void Request(grpc::ServerContext& context, grpc::ByteBuffer& message,
               InferResponder& responder, grpc::ServerCompletionQueue& queue,
               void* tag) override {
    RequestAsyncUnary(0, &context, &message, &responder, &queue, &queue, tag);
  }
};

// Serves calls like InferQueue, and counts: every call that was posted ends
// once.
class CountingQueue final : private InferCallPool {
 public:
  explicit CountingQueue(ModelTable& models) : view_(models) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port_);
    builder.RegisterService(&service_);
    queue_ = builder.AddCompletionQueue();
    answered_ = std::make_unique<AnsweredCalls>(*queue_);
    environment_ = std::make_unique<InferEnvironment>(
        InferEnvironment{.models = view_, .answered = *answered_});
    server_ = builder.BuildAndStart();
    thread_ = std::thread([this] { Run(); });
  }

  int port() const { return port_; }
  const UnsentReplies& unsent() const { return unsent_; }

  // Returns how many calls were posted and have not ended. REQUIRES: the
  // schedulers have answered what they accepted.
  size_t Stop() {
    server_->Shutdown();
    answered_->AwaitPushes();
    stop_.Set(queue_.get(), gpr_inf_past(GPR_CLOCK_MONOTONIC), nullptr);
    thread_.join();
    return open_.size();
  }

 private:
  void Run() {
    for (int i = 0; i < kPosted; ++i) {
      PostNext();
    }
    void* tag = nullptr;
    bool ok = false;
    while (queue_->Next(&tag, &ok)) {
      answered_->FinishAll();
      if (tag == nullptr) {
        queue_->Shutdown();
        continue;
      }
      static_cast<QueueTag*>(tag)->Ended(ok);
    }
  }

  void PostNext() override {
    if (idle_.empty()) {
      calls_.emplace_back(new GrpcInferCall(*environment_, unsent_, *this));
      idle_.push_back(calls_.back().get());
    }
    GrpcInferCall& call = *idle_.back();
    idle_.pop_back();
    open_.insert(&call);
    call.Post(service_, *queue_);
  }

  void GiveBack(GrpcInferCall& call) override {
    EXPECT_EQ(open_.erase(&call), 1u) << "the call ended before";
    idle_.push_back(&call);
  }

  Service service_;
  ModelTableView view_;
  UnsentReplies unsent_{size_t{64} << 20};
  int port_ = 0;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<AnsweredCalls> answered_;
  std::unique_ptr<InferEnvironment> environment_;
  std::unique_ptr<grpc::Server> server_;
  grpc::Alarm stop_;
  std::vector<std::unique_ptr<GrpcInferCall>> calls_;
  std::vector<GrpcInferCall*> idle_;
  std::set<GrpcInferCall*> open_;  // the queue's thread's, until it is joined
  std::thread thread_;
};

// Echoes rows, some batches within the time in which their thread replies and
// others later, and fails now and then.
std::unique_ptr<ServedModel> MakeModel(const std::string& name,
                                       Duration compute) {
  auto model = std::make_unique<ServedModel>();
  model->name = name;
  model->spec = {.inputs = {{"x", DataType::kInt64, {1}}},
                 .outputs = {{"y", DataType::kInt64, {1}}},
                 .max_batch_size = 8};
  std::vector<std::unique_ptr<Instance>> instances;
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    auto simulated = SimulatedModel::Create(model->spec, {.alpha = compute,
                                                          .beta = Duration(0),
                                                          .jitter = 0.9,
                                                          .fail_every = 17,
                                                          .throw_every = 23,
                                                          .seed = seed});
    instances.push_back(*CpuInstance::Create(*std::move(simulated)));
  }
  model->scheduler =
      *Scheduler::Create(std::move(instances), {.max_batch_size = 8});
  return model;
}

// A call of the client's.
struct ClientCall {
  int64_t value = 0;
  grpc::ClientContext context;
  grpc::ByteBuffer reply;
  grpc::Status status;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
};

std::string ToString(grpc::ByteBuffer& bytes) {
  std::string text;
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(bytes.Dump(&slices).ok());
  for (const grpc::Slice& slice : slices) {
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return text;
}

// A client on one thread. Calls are cancelled at random moments, of which there
// are more than events: an end of any call lets a cancel of any other follow.
class Client {
 public:
  explicit Client(int port)
      : stub_(grpc::CreateChannel("127.0.0.1:" + std::to_string(port),
                                  grpc::InsecureChannelCredentials())) {}
  ~Client() {
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    EXPECT_FALSE(queue_.Next(&tag, &ok)) << "every call has ended";
  }

  // Makes kCalls, and returns how many ended how.
  std::map<grpc::StatusCode, int> Run() {
    for (int i = 0; i < kCalls; ++i) {
      Start(i);
      if (random_() % 3 == 0) {
        open_[random_() % open_.size()]->context.TryCancel();
      }
      while (open_.size() >= kMaxOpen || (!open_.empty() && random_() % 2)) {
        EndOne();
      }
    }
    while (!open_.empty()) {
      EndOne();
    }
    return codes_;
  }

 private:
  void Start(int64_t value) {
    inference::ModelInferRequest request;
    request.set_model_name(value % 2 == 0 ? "quick" : "slow");
    auto* input = request.add_inputs();
    input->set_name("x");
    input->set_datatype(random_() % 16 == 0 ? "INT32" : "INT64");  // refused
    input->add_shape(1);
    input->add_shape(1);
    request.add_raw_input_contents(RawBytes<int64_t>({value}));
    auto call = std::make_unique<ClientCall>();
    call->value = value;
    call->context.set_wait_for_ready(true);  // gRPC 1.51 may have to try again
    if (random_() % 4 == 0) {
      call->context.set_deadline(gpr_time_add(
          gpr_now(GPR_CLOCK_MONOTONIC),
          gpr_time_from_micros(static_cast<int64_t>(random_() % 5'000),
                               GPR_TIMESPAN)));
    }
    const grpc::Slice slice(request.SerializeAsString());
    call->reader = stub_.PrepareUnaryCall(&call->context, kMethod,
                                          grpc::ByteBuffer(&slice, 1), &queue_);
    call->reader->StartCall();
    call->reader->Finish(&call->reply, &call->status, call.get());
    open_.push_back(std::move(call));
  }

  void EndOne() {
    void* tag = nullptr;
    bool ok = false;
    ASSERT_TRUE(queue_.Next(&tag, &ok));
    const auto ended =
        std::find_if(open_.begin(), open_.end(),
                     [tag](const auto& call) { return call.get() == tag; });
    ASSERT_NE(ended, open_.end()) << "the call has ended twice";
    ClientCall& call = **ended;
    ++codes_[call.status.error_code()];
    if (call.status.ok()) {
      inference::ModelInferResponse response;
      EXPECT_TRUE(response.ParseFromString(ToString(call.reply)));
      EXPECT_EQ(response.raw_output_contents(0),
                RawBytes<int64_t>({call.value}))
          << "the reply is another call's";
    }
    open_.erase(ended);
  }

  grpc::CompletionQueue queue_;
  grpc::GenericStub stub_;
  std::mt19937 random_{1};
  std::vector<std::unique_ptr<ClientCall>> open_;
  std::map<grpc::StatusCode, int> codes_;
};

TEST(GrpcInferCallTest, EveryCallEndsOnceWheneverItIsCancelled) {
  std::unique_ptr<ServedModel> quick =
      MakeModel("quick", std::chrono::microseconds(20));
  std::unique_ptr<ServedModel> slow =
      MakeModel("slow", std::chrono::microseconds(500));
  BorrowedTable table({quick.get(), slow.get()});
  CountingQueue queue(table);
  std::map<grpc::StatusCode, int> codes = Client(queue.port()).Run();
  EXPECT_TRUE(quick->scheduler->Drain(kNever).ok());
  EXPECT_TRUE(slow->scheduler->Drain(kNever).ok());
  EXPECT_EQ(queue.Stop(), 0u) << "calls have not ended";
  quick->scheduler.reset();
  slow->scheduler.reset();
  EXPECT_EQ(queue.unsent().bytes(), 0u);
  table.Publish({});
  EXPECT_EQ(table.TakeAbandoned().size(), 2u) << "a call keeps its model";
  for (const auto code :
       {grpc::StatusCode::OK, grpc::StatusCode::CANCELLED,
        grpc::StatusCode::INTERNAL, grpc::StatusCode::INVALID_ARGUMENT}) {
    EXPECT_GT(std::exchange(codes[code], 0), 0) << "none ended with " << code;
  }
  codes.erase(grpc::StatusCode::DEADLINE_EXCEEDED);
  codes.erase(grpc::StatusCode::RESOURCE_EXHAUSTED);  // would miss its deadline
  for (const auto& [code, count] : codes) {
    EXPECT_EQ(count, 0) << "calls ended with " << code;
  }
}

}  // namespace
}  // namespace ferry

// Tests the gRPC target and the client's blocking calls, against a real server
// in this process that fails as the test says.
#include "bench/client/grpc_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "bench/client/model_client.h"
#include "bench/client/request_pool.h"
#include "bench/load/load_generator.h"
#include "bench/micro/echo_service.h"
#include "bench/processes/sharded_target.h"

namespace ferry::bench {
namespace {

using ::testing::HasSubstr;

// Answers, fails every fourth call, or never answers.
class FailingService final : public CallbackEchoService {
 public:
  enum class Mode { kAnswer, kFailEveryFourth, kNeverAnswer };

  explicit FailingService(const EchoModel& model)
      : CallbackEchoService(model) {}

  grpc::ServerUnaryReactor* ModelInfer(grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* reply) override {
    const uint64_t number = calls.fetch_add(1);
    {
      MutexLock lock(mutex_);
      ++calls_by_peer_[context->peer()];
    }
    if (mode == Mode::kNeverAnswer) {
      return new Silent();
    }
    if (mode == Mode::kFailEveryFourth && number % 4 == 0) {
      grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
      reactor->Finish(
          grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "full"));
      return reactor;
    }
    return CallbackEchoService::ModelInfer(context, request, reply);
  }

  std::atomic<Mode> mode{Mode::kAnswer};
  std::atomic<uint64_t> calls{0};

  // [connection]
  std::map<std::string, int> calls_by_peer() {
    MutexLock lock(mutex_);
    return calls_by_peer_;
  }

 private:
  // Finishes only when the client has cancelled.
  class Silent final : public grpc::ServerUnaryReactor {
   public:
    void OnCancel() override { Finish(grpc::Status::CANCELLED); }
    void OnDone() override { delete this; }
  };

  Mutex mutex_;
  std::map<std::string, int> calls_by_peer_ ABSL_GUARDED_BY(mutex_);
};

class GrpcTargetTest : public ::testing::Test {
 protected:
  void SetUp() override {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    address_ = "127.0.0.1:" + std::to_string(port);
  }

  void TearDown() override { server_->Shutdown(); }

  // With a `cancel_share` there is a second class, of that.
  std::unique_ptr<GrpcTarget> MakeTarget(double cancel_share = 0,
                                         uint64_t number_step = 1) {
    const ModelClient client(address_, "mlp");
    const auto description = client.Describe();
    EXPECT_TRUE(description.ok()) << description.status();
    auto pool = MakeRequestPool(description->metadata, description->config, {});
    EXPECT_TRUE(pool.ok()) << pool.status();
    GrpcTargetOptions options;
    options.address = address_;
    options.number_step = number_step;
    std::vector<ClassRequests> classes = {{.requests = std::move(*pool)}};
    if (cancel_share > 0) {
      classes.push_back(classes.front());
      classes.back().cancel_share = cancel_share;
      classes.back().cancel_after = Milliseconds(5);
    }
    auto target =
        GrpcTarget::Create(options, std::move(classes), Milliseconds(10000));
    EXPECT_TRUE(target.ok()) << target.status();
    return std::move(*target);
  }

  FailingService service_{EchoModel{}};
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
  SteadyPacer pacer_;
};

TEST_F(GrpcTargetTest, ClosedLoopIsAnsweredByAServer) {
  const auto target = MakeTarget();
  LoadGenerator generator(*target, pacer_);
  LoadPlan plan;
  plan.measured = Milliseconds(200);
  const auto result = generator.RunClosed(8, plan);
  EXPECT_GT(result->ok(), 8U);
  EXPECT_EQ(result->failed(), 0U);
}

TEST_F(GrpcTargetTest, ConnectionsTakeTurnsAlsoWhereNumbersAreDealt) {
  const auto target = MakeTarget(0, /*number_step=*/2);
  ShardedTarget sharded(*target, {.index = 1, .count = 2});
  LoadGenerator generator(sharded, pacer_);
  LoadPlan plan;
  plan.measured = Milliseconds(200);
  generator.RunClosed(4, plan);
  const std::map<std::string, int> calls = service_.calls_by_peer();
  ASSERT_EQ(calls.size(), 2U) << "two connections, and none of them shared";
  EXPECT_LE(std::abs(calls.begin()->second - calls.rbegin()->second), 1);
}

TEST_F(GrpcTargetTest, FailuresComeBackByCode) {
  service_.mode = FailingService::Mode::kFailEveryFourth;
  const auto target = MakeTarget();
  LoadGenerator generator(*target, pacer_);
  LoadPlan plan;
  plan.measured = Milliseconds(200);
  const auto result = generator.RunClosed(8, plan);
  EXPECT_GT(result->ok(), 0U);
  EXPECT_EQ(result->failed(), result->ended[8]) << "RESOURCE_EXHAUSTED only";
  EXPECT_NEAR(static_cast<double>(result->ok()),
              3.0 * static_cast<double>(result->failed()), 30);
}

TEST_F(GrpcTargetTest, CallsThatAreNeverAnsweredAreCancelledAfterTheLimit) {
  service_.mode = FailingService::Mode::kNeverAnswer;
  const auto target = MakeTarget();
  LoadGenerator generator(*target, pacer_);
  LoadPlan plan;
  plan.measured = Milliseconds(50);
  plan.drain_limit = Milliseconds(50);
  const auto result = generator.RunClosed(5, plan);
  EXPECT_EQ(result->unanswered, 5U);
  EXPECT_EQ(result->ok(), 0U);
}

TEST_F(GrpcTargetTest, ClassIsCancelledByItsClient) {
  service_.mode = FailingService::Mode::kNeverAnswer;
  const auto target = MakeTarget(/*cancel_share=*/1);
  LoadGenerator generator(*target, pacer_);
  LoadPlan plan;
  plan.measured = Milliseconds(300);
  plan.drain_limit = Milliseconds(50);
  const auto result = generator.RunClosed(8, plan);
  ASSERT_EQ(result->classes.size(), 2U);
  const auto cancelled = static_cast<size_t>(absl::StatusCode::kCancelled);
  EXPECT_GT(result->classes[1].ended[cancelled], 0U);
  EXPECT_EQ(result->classes[0].ended[cancelled], 0U)
      << "those are only given up in the end";
  EXPECT_EQ(result->unanswered, 8U) << "all that wait are of the other class";
}

TEST_F(GrpcTargetTest, CallsThatEndBeforeTheirCancelEndOnce) {
  const auto target = MakeTarget(/*cancel_share=*/0.5);
  LoadGenerator generator(*target, pacer_);
  LoadPlan plan;
  plan.measured = Milliseconds(200);
  const auto result = generator.RunClosed(4, plan);
  uint64_t planned = 0;
  for (const ClassLoad& one : result->classes) {
    EXPECT_GT(one.ended[0], 0U);
    planned += one.planned;
  }
  EXPECT_EQ(planned, result->planned);
}

TEST_F(GrpcTargetTest, ServerThatGoesAwayIsAnErrorNotAnEnd) {
  const auto target = MakeTarget();
  server_->Shutdown();
  LoadGenerator generator(*target, pacer_);
  LoadPlan plan;
  plan.measured = Milliseconds(50);
  const auto result = generator.RunClosed(2, plan);
  EXPECT_EQ(result->ok(), 0U);
  EXPECT_GT(result->ended[14], 0U) << "UNAVAILABLE";
}

TEST(GrpcTargetWithoutServerTest, SaysWhereNobodyAnswers) {
  GrpcTargetOptions options;
  options.address = "127.0.0.1:1";
  const auto target = GrpcTarget::Create(
      options, {{.requests = {grpc::ByteBuffer()}}}, Milliseconds(200));
  EXPECT_THAT(target.status().message(), HasSubstr("127.0.0.1:1"));
  const ModelClient client("127.0.0.1:1", "mlp");
  EXPECT_EQ(client.AwaitReady(Milliseconds(1)).code(),
            absl::StatusCode::kUnavailable);
}

// Has versions of the models "broken" and "held", and "mlp"; none is ready.
class UnreadyService final : public CallbackEchoService {
 public:
  UnreadyService() : CallbackEchoService(EchoModel{}) {}

  grpc::ServerUnaryReactor* ModelReady(
      grpc::CallbackServerContext* context,
      const inference::ModelReadyRequest* /*request*/,
      inference::ModelReadyResponse* reply) override {
    reply->set_ready(false);
    return FinishOk(context);
  }

  grpc::Status RepositoryIndex(
      grpc::ServerContext* /*context*/,
      const inference::RepositoryIndexRequest* /*request*/,
      inference::RepositoryIndexResponse* reply) override {
    Add("broken", "UNAVAILABLE", "unloaded", *reply);
    Add("broken", "UNAVAILABLE", "no file" + std::string(1000, '.'), *reply);
    Add("held", "UNAVAILABLE", "unloaded", *reply);
    Add("held", "READY", "", *reply);
    Add("mlp", "", "", *reply);
    return grpc::Status::OK;
  }

 private:
  static void Add(const std::string& name, const std::string& state,
                  const std::string& reason,
                  inference::RepositoryIndexResponse& reply) {
    auto* const version = reply.add_models();
    version->set_name(name);
    version->set_state(state);
    version->set_reason(reason);
  }
};

TEST(ModelClientTest, ModelThatIsNotReadyIsLookedUpInTheIndex) {
  UnreadyService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  const std::string address = "127.0.0.1:" + std::to_string(port);
  const auto said = [&address](const std::string& model) {
    return std::string(
        ModelClient(address, model).AwaitReady(Duration(0)).message());
  };
  const std::string at = "' at " + address + " is not ready: ";
  EXPECT_EQ(said("mlpp"), "model 'mlpp" + at +
                              "the server has no model of that name, it has "
                              "broken, held, mlp");
  const std::string last = "model 'broken" + at + "UNAVAILABLE: no file...";
  EXPECT_EQ(said("broken").substr(0, last.size()), last);
  EXPECT_LT(said("broken").size(), 700U);
  EXPECT_EQ(said("held"), "model 'held" + at +
                              "it is loaded, but the server takes no requests");
  EXPECT_EQ(said("mlp"), "model 'mlp" + at + "it was never loaded");
  server->Shutdown();
}

TEST_F(GrpcTargetTest, DescriptionIsTheServersOwn) {
  const auto description = ModelClient(address_, "mlp").Describe();
  ASSERT_TRUE(description.ok()) << description.status();
  EXPECT_EQ(description->server_name, "grpc-echo");
  EXPECT_FALSE(description->has_statistics);
  EXPECT_TRUE(description->has_config);
  EXPECT_EQ(description->config.max_batch_size(), 64);
  EXPECT_EQ(description->instance_count(), 1);
}

}  // namespace
}  // namespace ferry::bench

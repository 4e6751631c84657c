// Tests that a call is answered once, whenever its cancel comes.
#include "server/grpc/infer_call.h"

#include <gmock/gmock.h>
#include <grpcpp/test/server_context_test_spouse.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "absl/strings/str_split.h"
#include "proto/inference.pb.h"
#include "tests/server/borrowed_models.h"
#include "tests/server/codec/message_bytes.h"
#include "tests/server/grpc/answered_queue.h"
#include "tests/server/scripted_model.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A call on a transport that keeps what it is to send.
class TestCall final : private InferTransport {
 public:
  explicit TestCall(const InferEnvironment& environment)
      : call_(environment, *this) {}

  void Start(const std::string& message, TimePoint deadline = kNever) {
    const grpc::Slice slice(message);
    grpc::ByteBuffer bytes(&slice, 1);
    call_.Start(bytes, deadline);
  }
  void ComeBy(const grpc::ServerContext& rpc) { call_.ComeBy(rpc); }
  void StartWithoutMessage() {
    grpc::ByteBuffer none;
    call_.Start(none, kNever);
  }
  void Cancel() { call_.Cancel(); }

  std::function<void()> on_reply;
  int replies = 0;
  int errors = 0;
  int ended = 0;
  grpc::Status status;
  std::optional<int64_t> retry_pushback_ms;
  std::string reply;

 private:
  void SendReply(grpc::ByteBuffer& sent) override {
    ++replies;
    if (on_reply) {
      on_reply();
    }
    reply.clear();
    std::vector<grpc::Slice> slices;
    ASSERT_TRUE(sent.Dump(&slices).ok());
    for (const grpc::Slice& slice : slices) {
      reply.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    }
  }
  void SendError(const grpc::Status& sent,
                 std::optional<int64_t> pushback_ms) override {
    ++errors;
    status = sent;
    retry_pushback_ms = pushback_ms;
  }
  void Ended() override { ++ended; }

  InferCall call_;
};

inference::ModelInferRequest OneRow() {
  inference::ModelInferRequest request;
  request.set_model_name("m");
  request.set_id("id-1");
  auto* input = request.add_inputs();
  input->set_name("x");
  input->set_datatype("INT64");
  input->add_shape(1);
  input->add_shape(1);
  request.add_raw_input_contents(RawBytes<int64_t>({34}));
  return request;
}

// A served model and one call to it.
struct Scene {
  explicit Scene(SchedulerOptions options = {}) : model("m", 1, options) {}

  void Start(const inference::ModelInferRequest& request,
             TimePoint deadline = kNever) {
    call.Start(request.SerializeAsString(), deadline);
  }

  // Lets the model compute what is queued.
  void Compute(Outcome outcome = {}) {
    model.Step();
    while (model.instances().running_count() > 0) {
      model.instances().Complete(0, outcome);
    }
    model.Step();
  }
  // Compute(), and the answers leave.
  void Serve(Outcome outcome = {}) {
    Compute(outcome);
    queue.calls().FinishAll();
  }

  ScriptedModel model;
  BorrowedTable table{&model.model()};
  ModelTableView view{table};
  AnsweredQueue queue;
  InferEnvironment environment{.models = view, .answered = queue.calls()};
  TestCall call{environment};
};

TEST(InferCallTest, ReplyBringsTheCallersRowAndId) {
  Scene scene;
  scene.Start(OneRow());
  scene.Serve();
  inference::ModelInferResponse response;
  ASSERT_EQ(scene.call.replies, 1);
  ASSERT_TRUE(response.ParseFromString(scene.call.reply));
  EXPECT_EQ(response.id(), "id-1");
  EXPECT_EQ(response.model_name(), "m");
  EXPECT_EQ(response.model_version(), "1");
  EXPECT_EQ(response.raw_output_contents(0), RawBytes<int64_t>({34}));
}

TEST(InferCallTest, RowsThatAreLoadCountAsTheyArrive) {
  SchedulerOptions options;
  options.queue.requests = 1;
  Scene scene(options);
  const auto arrived = [&] {
    return scene.table.Count().front().counts.arrived_rows;
  };
  scene.Start(OneRow());
  EXPECT_EQ(arrived(), 1u);
  TestCall refused(scene.environment);
  refused.Start(OneRow().SerializeAsString());
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(arrived(), 2u) << "there was no room";
  scene.Serve();
  TestCall late(scene.environment);
  late.Start(OneRow().SerializeAsString(), scene.model.clock().Now());
  inference::ModelInferRequest wrong = OneRow();
  wrong.mutable_inputs(0)->set_datatype("FP32");
  TestCall invalid(scene.environment);
  invalid.Start(wrong.SerializeAsString());
  EXPECT_EQ(late.errors + invalid.errors, 2);
  EXPECT_EQ(arrived(), 2u) << "and these are nothing to compute";
}

TEST(InferCallTest, AnswerLeavesOnTheQueuesThreadAlone) {
  Scene scene;
  scene.Start(OneRow());
  std::thread instance([&] { scene.Compute(); });
  instance.join();
  EXPECT_EQ(scene.call.replies, 0) << "the instance's thread sends nothing";
  ASSERT_TRUE(scene.queue.HandleEvent()) << "and wakes the queue's";
  EXPECT_EQ(scene.call.replies, 1);
}

TEST(InferCallTest, ThreadThatHasTimeSendsTheReplyAndTheQueuesEndsTheCall) {
  Scene scene;
  scene.model.instances().has_time = true;
  scene.Start(OneRow());
  std::thread instance([&] { scene.Compute(); });
  instance.join();
  EXPECT_EQ(scene.call.replies, 1);
  EXPECT_EQ(scene.call.ended, 0) << "the queue's thread may still cancel it";
  scene.table.Publish({});
  EXPECT_TRUE(scene.table.TakeAbandoned().empty());
  ASSERT_TRUE(scene.queue.HandleEvent());
  EXPECT_EQ(scene.call.replies, 1);
  EXPECT_EQ(scene.call.ended, 1);
  EXPECT_EQ(scene.table.TakeAbandoned().size(), 1u) << "it keeps no model";
}

TEST(InferCallTest, ThreadThatHasTimeSendsTheErrorToo) {
  Scene scene;
  scene.model.instances().has_time = true;
  scene.Start(OneRow());
  scene.Compute({absl::StatusCode::kInternal, "device failed"});
  EXPECT_EQ(scene.call.errors, 1);
  EXPECT_THAT(scene.call.status.error_message(),
              StartsWith("[request id: id-1] device failed"));
  scene.queue.calls().FinishAll();
  EXPECT_EQ(scene.call.errors, 1);
  EXPECT_EQ(scene.call.ended, 1);
}

// G4: also of a request larger than a batch, while a part of it runs.
TEST(InferCallTest, ExpiredRequestIsToldWhileAPartOfItRuns) {
  Scene scene({.max_batch_size = 4});
  inference::ModelInferRequest request = OneRow();
  request.mutable_inputs(0)->set_shape(0, 9);
  request.set_raw_input_contents(0, std::string(9 * sizeof(int64_t), '\0'));
  const TimePoint deadline = scene.model.clock().Now() + Milliseconds(5);
  scene.Start(request, deadline);
  scene.model.Step();
  ASSERT_EQ(scene.model.instances().running_count(), 1u);
  scene.model.clock().Advance(Milliseconds(5));
  scene.model.Step();
  EXPECT_EQ(scene.model.instances().running_count(), 1u);
  EXPECT_EQ(scene.call.errors, 1);
  EXPECT_EQ(scene.call.status.error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(scene.call.ended, 0) << "the part still reads its rows";
  scene.call.Cancel();
  scene.Serve();
  EXPECT_EQ(scene.call.errors, 1);
  EXPECT_EQ(scene.call.replies, 0);
  EXPECT_EQ(scene.call.ended, 1);
  scene.Start(OneRow());
  scene.Serve();
  EXPECT_EQ(scene.call.replies, 1) << "the call is used again";
}

TEST(InferCallTest, AnswersLeaveInTheOrderInWhichTheyCame) {
  Scene scene;
  std::vector<int> order;
  std::vector<std::unique_ptr<TestCall>> calls;
  for (int i = 0; i < 3; ++i) {
    calls.push_back(std::make_unique<TestCall>(scene.environment));
    calls.back()->on_reply = [&order, i] { order.push_back(i); };
    calls.back()->Start(OneRow().SerializeAsString());
  }
  scene.Serve();
  EXPECT_THAT(order, ElementsAre(0, 1, 2));
}

TEST(InferCallTest, ClearedCallServesTheNextRequest) {
  Scene scene;
  for (int i = 0; i < 3; ++i) {
    scene.model.instances().has_time = i == 1;
    inference::ModelInferRequest request = OneRow();
    request.set_id(std::string(1, static_cast<char>('a' + i)));
    scene.Start(request);
    scene.Serve();
    EXPECT_EQ(scene.call.replies, i + 1);
    EXPECT_EQ(scene.call.ended, i + 1);
    inference::ModelInferResponse response;
    ASSERT_TRUE(response.ParseFromString(scene.call.reply));
    EXPECT_EQ(response.id(), request.id());
  }
}

// When the client's cancel comes.
enum class Moment { kQueued, kRunning, kAnswered, kSent };

class InferCallCancelTest
    : public testing::TestWithParam<std::tuple<Moment, bool>> {};

TEST_P(InferCallCancelTest, IsAnsweredOnce) {
  const auto [moment, has_time] = GetParam();
  for (const auto outcome :
       {absl::StatusCode::kOk, absl::StatusCode::kInternal}) {
    Scene scene;
    scene.model.instances().has_time = has_time;
    const auto cancel_at = [&scene, moment = moment](Moment now) {
      if (now == moment) {
        scene.call.Cancel();
      }
    };
    scene.Start(OneRow());
    cancel_at(Moment::kQueued);
    scene.model.Step();
    EXPECT_EQ(scene.model.instances().started_count(),
              moment == Moment::kQueued ? 0 : 1);
    cancel_at(Moment::kRunning);
    scene.Compute({outcome, "as told"});
    cancel_at(Moment::kAnswered);
    scene.queue.calls().FinishAll();
    cancel_at(Moment::kSent);
    scene.Serve();
    EXPECT_EQ(scene.call.replies + scene.call.errors, 1);
    if (moment == Moment::kQueued) {
      EXPECT_EQ(scene.call.status.error_code(), grpc::StatusCode::CANCELLED);
    } else {
      EXPECT_EQ(scene.call.replies, outcome == absl::StatusCode::kOk ? 1 : 0);
    }
    scene.Start(OneRow());
    scene.Serve();
    EXPECT_EQ(scene.call.replies + scene.call.errors, 2)
        << "the cancel is not one of the next request";
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, InferCallCancelTest,
    testing::Combine(testing::Values(Moment::kQueued, Moment::kRunning,
                                     Moment::kAnswered, Moment::kSent),
                     testing::Bool()));

TEST(InferCallTest, ClientThatDoesNotReadKeepsNoModel) {
  Scene scene;
  scene.Start(OneRow());
  scene.table.Publish({});
  EXPECT_TRUE(scene.table.TakeAbandoned().empty()) << "it computes";
  scene.Serve();
  ASSERT_EQ(scene.call.replies, 1);
  EXPECT_EQ(scene.table.TakeAbandoned().size(), 1u) << "it has answered";
  scene.call.Cancel();  // finds nothing to cancel
}

TEST(InferCallTest, RefusedCallKeepsNoModel) {
  Scene scene;
  scene.model.scheduler().BeginDrain();
  scene.Start(OneRow());
  EXPECT_EQ(scene.call.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  scene.table.Publish({});
  EXPECT_EQ(scene.table.TakeAbandoned().size(), 1u);
  scene.call.Cancel();  // finds nothing to cancel
}

// --- errors ----------------------------------------------------------------

TEST(InferCallTest, ErrorNamesTheRequest) {
  Scene scene;
  inference::ModelInferRequest wrong = OneRow();
  wrong.mutable_inputs(0)->set_datatype("INT8");
  scene.Start(wrong);
  EXPECT_EQ(scene.call.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(scene.call.status.error_message(),
              StartsWith("[request id: id-1] inference input 'x'"));
  EXPECT_EQ(scene.table.UseAll()[0]->invalid_requests.load(), 1u);
}

TEST(InferCallTest, ErrorWithoutAnIdSaysSo) {
  Scene scene;
  inference::ModelInferRequest unknown = OneRow();
  unknown.clear_id();
  unknown.set_model_name("other");
  scene.Start(unknown);
  EXPECT_EQ(scene.call.status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(scene.call.status.error_message(),
            "[request id: <id_unknown>] Request for unknown model: 'other' is "
            "not found");
  EXPECT_EQ(scene.table.unknown_model_requests(), 1u);
}

TEST(InferCallTest, FullQueueIsRefusedWithAPushback) {
  Scene scene({.queue = {.requests = 1}});
  TestCall first(scene.environment);
  first.Start(OneRow().SerializeAsString());
  scene.table.UseAll()[0]->retry_pushback_ms.store(123);
  scene.Start(OneRow());
  EXPECT_EQ(scene.call.status.error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(scene.call.retry_pushback_ms, 123);
  scene.Serve();
  EXPECT_EQ(first.replies, 1);
}

TEST(InferCallTest, RefusalOfADrainHasAPushback) {
  Scene scene;
  scene.model.scheduler().BeginDrain();
  scene.Start(OneRow());
  EXPECT_EQ(scene.call.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_GT(scene.call.retry_pushback_ms, 0);
}

TEST(InferCallTest, TritonCodesAreForRefusalsAlone) {
  Scene scene({.queue = {.requests = 1}});
  const InferEnvironment triton{.models = scene.view,
                                .answered = scene.queue.calls(),
                                .codes = StatusCodes::kTriton};
  TestCall admitted(triton);
  TestCall refused(triton);
  admitted.Start(OneRow().SerializeAsString());
  refused.Start(OneRow().SerializeAsString());
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  scene.Serve({absl::StatusCode::kResourceExhausted, "device is full"});
  EXPECT_EQ(admitted.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST(InferCallTest, RequestPastItsClientsBoundIsRefusedWithAPushback) {
  Scene scene;
  ClientShares shares({.requests = 1, .bytes = 0});
  const InferEnvironment environment{
      .models = scene.view,
      .answered = scene.queue.calls(),
      .shares = &shares,
      .name_of_client = [](const grpc::ServerContext&) { return "web"; }};
  const grpc::ServerContext rpc;
  TestCall admitted(environment);
  TestCall refused(environment);
  admitted.ComeBy(rpc);
  admitted.Start(OneRow().SerializeAsString());
  refused.ComeBy(rpc);
  refused.Start(OneRow().SerializeAsString());
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.status.error_message(), StartsWith("[request id: id-1]"));
  EXPECT_GT(refused.retry_pushback_ms, 0);
  EXPECT_EQ(refused.ended, 1);
  EXPECT_EQ(scene.table.UseAll()[0]->client_refusals.load(), 1U);
  EXPECT_EQ(shares.Count().front().requests, 1);
  scene.Serve();
  EXPECT_EQ(admitted.replies, 1);
  EXPECT_EQ(shares.Count().front().requests, 0);
  refused.ComeBy(rpc);
  refused.Start(OneRow().SerializeAsString());
  scene.Serve();
  EXPECT_EQ(refused.replies, 1);
}

TEST(InferCallTest, RequestThatTheQueueRefusesGivesItsShareBack) {
  Scene scene;
  ClientShares shares(ClientBounds{});
  const InferEnvironment environment{
      .models = scene.view,
      .answered = scene.queue.calls(),
      .shares = &shares,
      .name_of_client = [](const grpc::ServerContext&) { return "web"; }};
  scene.model.scheduler().BeginDrain();
  TestCall refused(environment);
  refused.ComeBy(grpc::ServerContext());
  refused.Start(OneRow().SerializeAsString());
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(shares.Count().front().requests, 0);
}

TEST(InferCallTest, DeadlineOfTheTransportIsTheRequests) {
  Scene scene;
  scene.Start(OneRow(), scene.model.clock().Now() + Milliseconds(5));
  scene.model.clock().Advance(Milliseconds(6));
  scene.Serve();
  EXPECT_EQ(scene.call.status.error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(scene.model.instances().started_count(), 0);
}

TEST(InferCallTest, TimeoutParameterIsTheDeadlineWhereItIsEarlier) {
  inference::ModelInferRequest request = OneRow();
  (*request.mutable_parameters())["timeout"].set_int64_param(3000);
  Scene scene;
  scene.Start(request, scene.model.clock().Now() + Milliseconds(500));
  scene.model.clock().Advance(Milliseconds(4));
  scene.Serve();
  EXPECT_EQ(scene.call.status.error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);

  Scene later;
  (*request.mutable_parameters())["timeout"].set_int64_param(3'000'000);
  later.Start(request, later.model.clock().Now() + Milliseconds(500));
  later.model.clock().Advance(Milliseconds(501));
  later.Serve();
  EXPECT_EQ(later.call.status.error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST(InferCallTest, MalformedMessageIsRefusedAndCounted) {
  Scene scene;
  scene.call.Start("\x0a\x05");
  EXPECT_EQ(scene.call.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(scene.table.malformed_requests(), 1u);
  scene.call.StartWithoutMessage();
  EXPECT_EQ(scene.call.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(scene.table.malformed_requests(), 2u);
}

TEST(InferCallTest, BackendErrorReachesTheCaller) {
  Scene scene;
  scene.Start(OneRow());
  scene.Serve({absl::StatusCode::kInternal, "device failed"});
  EXPECT_EQ(scene.call.status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_THAT(scene.call.status.error_message(), HasSubstr("device failed"));
}

// Keeps the texts that a tracer writes.
class KeptTexts final : public TraceSink {
 public:
  explicit KeptTexts(std::string& texts) : texts_(texts) {}
  bool Write(absl::string_view text) override {
    texts_.append(text.data(), text.size());
    return true;
  }

 private:
  std::string& texts_;
};

// A scene whose requests are traced by what their client sends.
struct TracedScene : Scene {
  explicit TracedScene(SchedulerOptions options = {}) : Scene(options) {
    environment.tracer = &tracer;
    client.AddClientMetadata(
        "traceparent",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    call.ComeBy(rpc);
  }

  // How often the text was written of what has ended.
  size_t Count(const std::string& text) {
    tracer.Flush(kNever);
    const std::vector<std::string> between = absl::StrSplit(texts, text);
    return between.size() - 1;
  }

  std::string texts;
  Tracer tracer{{},
                {.file = nullptr,
                 .collector = std::make_unique<KeptTexts>(texts),
                 .access_log = nullptr},
                TraceWriter::kNoPeriod};
  grpc::ServerContext rpc;
  grpc::testing::ServerContextTestSpouse client{&rpc};
};

TEST(InferCallTest, TraceIsTheClientsAndHasTheBatch) {
  TracedScene scene;
  scene.Start(OneRow());
  scene.Serve();
  ASSERT_EQ(scene.call.replies, 1);
  EXPECT_EQ(scene.Count("\"name\":\"infer\""), 1u);
  EXPECT_EQ(scene.Count("\"name\":\"compute\""), 1u);
  EXPECT_EQ(scene.Count("\"name\":\"batch\""), 1u);
  EXPECT_EQ(scene.Count("\"parentSpanId\":\"b7ad6b7169203331\""), 1u);
  EXPECT_EQ(scene.Count("{\"stringValue\":\"id-1\"}"), 1u);
}

TEST(InferCallTest, RefusalIsTracedWithItsCode) {
  TracedScene scene;
  inference::ModelInferRequest request = OneRow();
  request.set_model_name("other");
  scene.Start(request);
  ASSERT_EQ(scene.call.errors, 1);
  EXPECT_EQ(scene.Count("{\"key\":\"rpc.grpc.status_code\",\"value\":"
                        "{\"intValue\":\"5\"}}"),
            1u);
  EXPECT_EQ(scene.Count("\"name\":\"batch\""), 0u);
}

TEST(InferCallTest, RequestThatFailsWhileAPartOfItRunsIsTracedOnce) {
  TracedScene scene({.max_batch_size = 4});
  inference::ModelInferRequest request = OneRow();
  request.mutable_inputs(0)->set_shape(0, 9);
  request.set_raw_input_contents(0, std::string(9 * sizeof(int64_t), '\0'));
  scene.Start(request, scene.model.clock().Now() + Milliseconds(5));
  scene.model.Step();
  scene.model.clock().Advance(Milliseconds(5));
  scene.model.Step();
  ASSERT_EQ(scene.call.errors, 1);
  ASSERT_EQ(scene.call.ended, 0) << "a part runs";
  scene.Serve();
  ASSERT_EQ(scene.call.ended, 1);
  EXPECT_EQ(scene.Count("\"name\":\"infer\""), 1u);
  EXPECT_EQ(scene.Count("\"message\":\"DEADLINE_EXCEEDED\""), 1u);
  EXPECT_EQ(scene.Count("\"intValue\":\"9\""), 1u) << "rows";
}

TEST(InferCallTest, RequestThatCannotBeReadIsTracedWithoutWhatWasBefore) {
  TracedScene scene;
  scene.Start(OneRow());
  scene.Serve();
  EXPECT_EQ(scene.Count("{\"key\":\"ferry.model\""), 2u) << "and its batch";
  scene.call.ComeBy(scene.rpc);
  scene.call.StartWithoutMessage();
  EXPECT_EQ(scene.Count("\"name\":\"infer\""), 2u);
  EXPECT_EQ(scene.Count("{\"stringValue\":\"m\"}"), 2u);
  EXPECT_EQ(scene.Count("{\"key\":\"ferry.rows\",\"value\":"
                        "{\"intValue\":\"0\"}}"),
            1u);
}

}  // namespace
}  // namespace ferry

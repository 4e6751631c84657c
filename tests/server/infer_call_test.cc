// Every order in which the ends of a call can come.
#include "server/infer_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "proto/inference.pb.h"
#include "tests/server/borrowed_models.h"
#include "tests/server/message_bytes.h"
#include "tests/server/scripted_model.h"

namespace ferry {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// What became of a call; outlives it.
struct CallRecord {
  int replies = 0;
  int errors = 0;
  int recycled = 0;
  grpc::Status status;
  std::optional<int64_t> retry_pushback_ms;
  std::string reply;
  // Called while the reply or error is being sent.
  std::function<void()> on_send;
};

// A call on a transport of the test. Deletes itself when it is recycled, so
// that a sanitizer sees whoever still touches it.
class TestCall final : public InferCall {
 public:
  TestCall(const InferEnvironment& environment, std::string message,
           TimePoint deadline, CallRecord& record)
      : InferCall(environment),
        message_(std::move(message)),
        deadline_(deadline),
        record_(record) {}

 private:
  absl::Status TakeMessage(std::vector<grpc::Slice>& slices) override {
    slices.clear();
    slices.emplace_back(message_);
    return absl::OkStatus();
  }
  TimePoint Deadline() const override { return deadline_; }
  void SendReply(grpc::ByteBuffer& reply) override {
    ++record_.replies;
    std::vector<grpc::Slice> slices;
    ASSERT_TRUE(reply.Dump(&slices).ok());
    for (const grpc::Slice& slice : slices) {
      record_.reply.append(reinterpret_cast<const char*>(slice.begin()),
                           slice.size());
    }
    Sending();
  }
  void SendError(const grpc::Status& status,
                 std::optional<int64_t> retry_pushback_ms) override {
    ++record_.errors;
    record_.status = status;
    record_.retry_pushback_ms = retry_pushback_ms;
    Sending();
  }
  void Recycle() override {
    ++record_.recycled;
    delete this;
  }
  void Sending() {
    if (record_.on_send) {
      record_.on_send();
    }
  }

  const std::string message_;
  const TimePoint deadline_;
  CallRecord& record_;
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

  // The call lives until it is recycled.
  TestCall& Match(const inference::ModelInferRequest& request,
                  TimePoint deadline = kNever) {
    call = new TestCall(environment, request.SerializeAsString(), deadline,
                        record);
    call->Matched();
    return *call;
  }

  // Lets the model compute and answer what is queued.
  void Serve(Outcome outcome = {}) {
    model.Step();
    while (model.instances().running_count() > 0) {
      model.instances().Complete(0, outcome);
    }
    model.Step();
  }

  ScriptedModel model;
  BorrowedTable table{&model.model()};
  ModelTableView view{table};
  InferEnvironment environment{.models = view, .clock = model.clock()};
  CallRecord record;
  TestCall* call = nullptr;
};

TEST(InferCallTest, ReplyBringsTheCallersRowAndId) {
  Scene scene;
  scene.Match(OneRow());
  scene.Serve();
  inference::ModelInferResponse response;
  ASSERT_EQ(scene.record.replies, 1);
  ASSERT_TRUE(response.ParseFromString(scene.record.reply));
  EXPECT_EQ(response.id(), "id-1");
  EXPECT_EQ(response.model_name(), "m");
  EXPECT_EQ(response.model_version(), "1");
  EXPECT_EQ(response.raw_output_contents(0), RawBytes<int64_t>({34}));
  scene.call->Sent();
  EXPECT_EQ(scene.record.recycled, 0);
  scene.call->Done(Cancelled::kNo);
  EXPECT_EQ(scene.record.recycled, 1);
}

// --- the ends, in every order ----------------------------------------------

enum class End { kSent, kDone };

// When the ends come that are not tied to Respond().
enum class Moment { kBeforeRespond, kWithinRespond, kAfterRespond };

struct Order {
  Moment sent;
  Moment done;
  End first;  // where both come at the same moment
  Cancelled cancelled;
  absl::StatusCode outcome;
};

std::vector<Order> EveryOrder() {
  std::vector<Order> orders;
  for (Moment sent : {Moment::kWithinRespond, Moment::kAfterRespond}) {
    for (Moment done : {Moment::kBeforeRespond, Moment::kWithinRespond,
                        Moment::kAfterRespond}) {
      for (End first : {End::kSent, End::kDone}) {
        for (Cancelled cancelled : {Cancelled::kNo, Cancelled::kYes}) {
          for (absl::StatusCode outcome :
               {absl::StatusCode::kOk, absl::StatusCode::kInternal}) {
            orders.push_back({sent, done, first, cancelled, outcome});
          }
        }
      }
    }
  }
  return orders;
}

void PlayEnds(const Order& order, Moment moment, TestCall& call) {
  for (int i = 0; i < 2; ++i) {
    const bool is_sent = (i == 0) == (order.first == End::kSent);
    if (is_sent && order.sent == moment) {
      call.Sent();
    } else if (!is_sent && order.done == moment) {
      call.Done(order.cancelled);
    }
  }
}

TEST(InferCallTest, EveryOrderOfEndsRecyclesOnceAndLast) {
  for (const Order& order : EveryOrder()) {
    Scene scene;
    TestCall& call = scene.Match(OneRow());
    scene.model.Step();  // the batch has left: it is computed
    PlayEnds(order, Moment::kBeforeRespond, call);
    scene.record.on_send = [&] {
      PlayEnds(order, Moment::kWithinRespond, call);
      EXPECT_EQ(scene.record.recycled, 0) << "before Respond() has returned";
    };
    scene.Serve({order.outcome, "as told"});
    const bool all_came = order.sent != Moment::kAfterRespond &&
                          order.done != Moment::kAfterRespond;
    EXPECT_EQ(scene.record.recycled, all_came ? 1 : 0);
    PlayEnds(order, Moment::kAfterRespond, call);
    EXPECT_EQ(scene.record.recycled, 1);
    EXPECT_EQ(scene.record.replies + scene.record.errors, 1);
    EXPECT_EQ(scene.record.replies,
              order.outcome == absl::StatusCode::kOk ? 1 : 0);
  }
}

TEST(InferCallTest, CallCancelledWhileQueuedIsAnsweredAndNeverComputed) {
  for (Moment sent : {Moment::kWithinRespond, Moment::kAfterRespond}) {
    Scene scene;
    TestCall& call = scene.Match(OneRow());
    call.Done(Cancelled::kYes);
    if (sent == Moment::kWithinRespond) {
      scene.record.on_send = [&] { call.Sent(); };
    }
    scene.Serve();
    EXPECT_EQ(scene.model.instances().started_count(), 0);
    EXPECT_EQ(scene.record.status.error_code(), grpc::StatusCode::CANCELLED);
    if (sent == Moment::kAfterRespond) {
      EXPECT_EQ(scene.record.recycled, 0);
      call.Sent();
    }
    EXPECT_EQ(scene.record.recycled, 1);
  }
}

TEST(InferCallTest, ClientThatDoesNotReadKeepsNoModel) {
  Scene scene;
  scene.Match(OneRow());
  scene.table.Publish({});
  EXPECT_TRUE(scene.table.TakeAbandoned().empty()) << "it computes";
  scene.Serve();
  ASSERT_EQ(scene.record.replies, 1);
  EXPECT_EQ(scene.table.TakeAbandoned().size(), 1u) << "it has answered";
  scene.call->Done(Cancelled::kYes);  // finds nothing to cancel
  scene.call->Sent();
  EXPECT_EQ(scene.record.recycled, 1);
}

TEST(InferCallTest, RefusedCallRecyclesAfterBothEndsInEitherOrder) {
  for (End first : {End::kSent, End::kDone}) {
    Scene scene;
    scene.model.scheduler().BeginDrain();
    TestCall& call = scene.Match(OneRow());
    EXPECT_EQ(scene.record.status.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_EQ(scene.record.recycled, 0);
    if (first == End::kSent) {
      call.Sent();
      EXPECT_EQ(scene.record.recycled, 0);
      call.Done(Cancelled::kYes);
    } else {
      call.Done(Cancelled::kYes);
      EXPECT_EQ(scene.record.recycled, 0);
      call.Sent();
    }
    EXPECT_EQ(scene.record.recycled, 1);
  }
}

// --- errors ----------------------------------------------------------------

// Lets a call that has failed come to its end.
void EndCall(Scene& scene) {
  scene.call->Sent();
  scene.call->Done(Cancelled::kNo);
}

TEST(InferCallTest, ErrorNamesTheRequest) {
  Scene scene;
  inference::ModelInferRequest wrong = OneRow();
  wrong.mutable_inputs(0)->set_datatype("INT8");
  scene.Match(wrong);
  EXPECT_EQ(scene.record.status.error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(scene.record.status.error_message(),
              StartsWith("[request id: id-1] inference input 'x'"));
  EXPECT_EQ(scene.table.UseAll()[0]->invalid_requests.load(), 1u);
  EndCall(scene);
}

TEST(InferCallTest, ErrorWithoutAnIdSaysSo) {
  Scene scene;
  inference::ModelInferRequest unknown = OneRow();
  unknown.clear_id();
  unknown.set_model_name("other");
  scene.Match(unknown);
  EXPECT_EQ(scene.record.status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(scene.record.status.error_message(),
            "[request id: <id_unknown>] Request for unknown model: 'other' is "
            "not found");
  EXPECT_EQ(scene.table.unknown_model_requests(), 1u);
  EndCall(scene);
}

TEST(InferCallTest, FullQueueIsRefusedWithAPushback) {
  Scene scene({.queue = {.requests = 1}});
  CallRecord queued;
  auto* const first = new TestCall(
      scene.environment, OneRow().SerializeAsString(), kNever, queued);
  first->Matched();
  scene.table.UseAll()[0]->retry_pushback_ms.store(123);
  scene.Match(OneRow());
  EXPECT_EQ(scene.record.status.error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(scene.record.retry_pushback_ms, 123);
  EndCall(scene);
  scene.Serve();
  EXPECT_EQ(queued.replies, 1);
  first->Sent();
  first->Done(Cancelled::kNo);
  EXPECT_EQ(queued.recycled, 1);
}

TEST(InferCallTest, DeadlineOfTheTransportIsTheRequests) {
  Scene scene;
  scene.Match(OneRow(), scene.model.clock().Now() + Milliseconds(5));
  scene.model.clock().Advance(Milliseconds(6));
  scene.Serve();
  EXPECT_EQ(scene.record.status.error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(scene.model.instances().started_count(), 0);
  EndCall(scene);
}

TEST(InferCallTest, TimeoutParameterIsTheDeadlineWhereItIsEarlier) {
  inference::ModelInferRequest request = OneRow();
  (*request.mutable_parameters())["timeout"].set_int64_param(3000);
  Scene scene;
  scene.Match(request, scene.model.clock().Now() + Milliseconds(500));
  scene.model.clock().Advance(Milliseconds(4));
  scene.Serve();
  EXPECT_EQ(scene.record.status.error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  EndCall(scene);

  Scene later;
  (*request.mutable_parameters())["timeout"].set_int64_param(3'000'000);
  later.Match(request, later.model.clock().Now() + Milliseconds(500));
  later.model.clock().Advance(Milliseconds(501));
  later.Serve();
  EXPECT_EQ(later.record.status.error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  EndCall(later);
}

TEST(InferCallTest, MalformedMessageIsRefusedAndCounted) {
  Scene scene;
  scene.call =
      new TestCall(scene.environment, "\x0a\x05", kNever, scene.record);
  scene.call->Matched();
  EXPECT_EQ(scene.record.status.error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(scene.table.malformed_requests(), 1u);
  EndCall(scene);
}

TEST(InferCallTest, BackendErrorReachesTheCaller) {
  Scene scene;
  scene.Match(OneRow());
  scene.Serve({absl::StatusCode::kInternal, "device failed"});
  EXPECT_EQ(scene.record.status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_THAT(scene.record.status.error_message(), HasSubstr("device failed"));
  EndCall(scene);
}

}  // namespace
}  // namespace ferry

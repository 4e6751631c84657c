// A C++ client against a real server: rows of its own, large messages, and
// cancels and deadlines at random, with a ledger of what was sent.
//
// The binary is $FERRY_SERVER.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "proto/inference.grpc.pb.h"
#include "tests/e2e/server_process.h"
#include "tests/server/codec/message_bytes.h"

namespace ferry {
namespace {

using inference::GRPCInferenceService;
using inference::ModelInferRequest;
using inference::ModelInferResponse;

constexpr char kTensors[] = R"(
max_batch_size: 64
input { name: "x" data_type: TYPE_FP32 dims: -1 }
output { name: "y" data_type: TYPE_FP32 dims: -1 }
dynamic_batching {}
)";

std::string Sim(const std::string& alpha_ms) {
  return std::string("backend: \"ferry_sim\"") + kTensors +
         "parameters { key: \"ferry.alpha_ms\" value { string_value: \"" +
         alpha_ms + "\" } }";
}

ModelInferRequest MakeRequest(const std::string& model, int64_t rows,
                              const std::vector<float>& values) {
  ModelInferRequest request;
  request.set_model_name(model);
  auto* input = request.add_inputs();
  input->set_name("x");
  input->set_datatype("FP32");
  input->add_shape(rows);
  input->add_shape(static_cast<int64_t>(values.size()) / rows);
  request.add_raw_input_contents(RawBytes(values));
  return request;
}

class ClientTest : public ::testing::Test {
 protected:
  ClientTest()
      : server_(std::getenv("FERRY_SERVER"),
                {{"echo", std::string("backend: \"ferry_echo\"") + kTensors},
                 {"sim", Sim("2")}},
                {"--queue-requests=256"}) {}

  void SetUp() override { ASSERT_NE(server_.port(), 0) << "did not start"; }
  void TearDown() override { EXPECT_EQ(server_.Stop(), 0); }

  // A connection of its own.
  std::unique_ptr<GRPCInferenceService::Stub> Connect() {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
    arguments.SetMaxReceiveMessageSize(-1);
    return GRPCInferenceService::NewStub(grpc::CreateCustomChannel(
        server_.address(), grpc::InsecureChannelCredentials(), arguments));
  }

  ServerProcess server_;
};

TEST_F(ClientTest, SixtyFourClientsEachGetTheirOwnRows) {
  constexpr int kClients = 64;
  constexpr int kTurns = 20;
  std::atomic<int> right{0};
  std::vector<std::thread> clients;
  for (int client = 0; client < kClients; ++client) {
    clients.emplace_back([&, client] {
      const auto stub = Connect();
      for (int turn = 0; turn < kTurns; ++turn) {
        const int rows = 1 + (client + turn) % 4;
        const std::vector<float> values(
            static_cast<size_t>(rows) * 8,
            static_cast<float>(client * kTurns + turn));
        grpc::ClientContext context;
        // One in a thousand of many clients that connect at once fails, on its
        // own side (gRPC 1.51 reads errno late), and has to try again.
        context.set_wait_for_ready(true);
        ModelInferResponse response;
        const grpc::Status status = stub->ModelInfer(
            &context, MakeRequest("sim", rows, values), &response);
        ASSERT_TRUE(status.ok()) << "client " << client << " turn " << turn
                                 << ": " << status.error_message();
        if (response.outputs(0).shape(0) == rows &&
            response.raw_output_contents(0) == RawBytes(values)) {
          ++right;
        }
      }
    });
  }
  for (std::thread& client : clients) {
    client.join();
  }
  EXPECT_EQ(right.load(), kClients * kTurns);
}

TEST_F(ClientTest, LargeTensorsComeBackWhole) {
  const auto stub = Connect();
  for (size_t elements : {1'000u, 150'001u, 4'000'000u}) {
    std::vector<float> values(elements);
    for (size_t i = 0; i < elements; ++i) {
      values[i] = static_cast<float>(i);
    }
    grpc::ClientContext context;
    ModelInferResponse response;
    const grpc::Status status =
        stub->ModelInfer(&context, MakeRequest("echo", 1, values), &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_TRUE(response.raw_output_contents(0) == RawBytes(values));
  }
}

// --- the ledger ------------------------------------------------------------

struct Call {
  grpc::ClientContext context;
  ModelInferResponse response;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncResponseReader<ModelInferResponse>> reader;
  float value = 0;
  int answers = 0;
};

void StartCall(GRPCInferenceService::Stub& stub, grpc::CompletionQueue& queue,
               int index, std::mt19937& random, Call& call) {
  call.value = static_cast<float>(index);
  const int fate = static_cast<int>(random() % 4);
  if (fate == 0) {  // a deadline that some make
    call.context.set_deadline(gpr_time_add(
        gpr_now(GPR_CLOCK_MONOTONIC),
        gpr_time_from_micros(static_cast<int64_t>(random() % 20'000),
                             GPR_TIMESPAN)));
  }
  ModelInferRequest request =
      MakeRequest("sim", 1, std::vector<float>(4, call.value));
  request.set_id(std::to_string(index));
  if (fate == 1) {
    (*request.mutable_parameters())["timeout"].set_int64_param(
        1 + static_cast<int64_t>(random() % 10'000));
  }
  call.reader = stub.AsyncModelInfer(&call.context, request, &queue);
  call.reader->Finish(&call.response, &call.status, &call);
  if (fate == 2) {
    call.context.TryCancel();
  }
}

TEST_F(ClientTest, EveryCallEndsOnceWhateverItsFate) {
  constexpr int kCalls = 4000;
  std::mt19937 random(20);
  const auto stub = Connect();
  grpc::CompletionQueue queue;
  std::vector<std::unique_ptr<Call>> calls;
  std::map<int, int> codes;
  int ended = 0;
  const auto take = [&] {
    void* tag = nullptr;
    bool ok = false;
    ASSERT_TRUE(queue.Next(&tag, &ok));
    ++static_cast<Call*>(tag)->answers;
    ++codes[static_cast<Call*>(tag)->status.error_code()];
    ++ended;
  };
  for (int i = 0; i < kCalls; ++i) {
    calls.push_back(std::make_unique<Call>());
    StartCall(*stub, queue, i, random, *calls.back());
    if (i - ended >= 400) {  // more than the queue holds
      take();
    }
  }
  while (ended < kCalls) {
    take();
  }
  for (int i = 0; i < kCalls; ++i) {
    const Call& call = *calls[static_cast<size_t>(i)];
    EXPECT_EQ(call.answers, 1);
    if (call.status.ok()) {
      EXPECT_EQ(call.response.id(), std::to_string(i));
      EXPECT_EQ(call.response.raw_output_contents(0),
                RawBytes(std::vector<float>(4, call.value)));
    }
  }
  for (const auto& [code, count] : codes) {
    EXPECT_THAT(code, ::testing::AnyOf(grpc::StatusCode::OK,
                                       grpc::StatusCode::CANCELLED,
                                       grpc::StatusCode::DEADLINE_EXCEEDED,
                                       grpc::StatusCode::RESOURCE_EXHAUSTED))
        << count << " calls";
  }
  EXPECT_GT(codes[grpc::StatusCode::OK], 0);
  EXPECT_GT(codes[grpc::StatusCode::CANCELLED], 0);
  queue.Shutdown();
}

}  // namespace
}  // namespace ferry

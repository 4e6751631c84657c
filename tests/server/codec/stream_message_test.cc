// Tests the message of a stream, as any protobuf reader sees it.
#include "server/codec/stream_message.h"

#include <grpcpp/support/slice.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/inference.pb.h"

namespace ferry {
namespace {

inference::ModelStreamInferResponse Read(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(buffer.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  inference::ModelStreamInferResponse message;
  EXPECT_TRUE(message.ParseFromString(bytes));
  return message;
}

// In two slices, as a response with a large output is.
grpc::ByteBuffer ResponseBytes(const inference::ModelInferResponse& response) {
  const std::string bytes = response.SerializeAsString();
  const grpc::Slice slices[] = {grpc::Slice(bytes.substr(0, 3)),
                                grpc::Slice(bytes.substr(3))};
  return grpc::ByteBuffer(slices, 2);
}

inference::ModelInferResponse Response(size_t bytes) {
  inference::ModelInferResponse response;
  response.set_model_name("m");
  response.set_id("7");
  response.add_raw_output_contents(std::string(bytes, 'x'));
  return response;
}

TEST(StreamMessage, HoldsTheResponseWhole) {
  for (const size_t bytes : {0, 1, 100, 300, 70'000}) {
    const inference::ModelInferResponse response = Response(bytes);
    grpc::ByteBuffer buffer = ResponseBytes(response);
    WrapInStreamMessage(buffer);
    inference::ModelStreamInferResponse message = Read(buffer);
    EXPECT_EQ(message.error_message(), "");
    message.mutable_infer_response()->clear_parameters();
    EXPECT_EQ(message.infer_response().SerializeAsString(),
              response.SerializeAsString());
  }
}

TEST(StreamMessage, SaysThatItIsTheLast) {
  grpc::ByteBuffer buffer = ResponseBytes(Response(200));
  WrapInStreamMessage(buffer);
  const inference::ModelInferResponse response = Read(buffer).infer_response();
  EXPECT_EQ(response.id(), "7");
  EXPECT_EQ(response.raw_output_contents(0).size(), 200u);
  ASSERT_EQ(response.parameters().count("triton_final_response"), 1u);
  EXPECT_TRUE(response.parameters().at("triton_final_response").bool_param());
}

TEST(StreamMessage, ErrorBringsItsTextAndTheRequestsId) {
  const inference::ModelStreamInferResponse message =
      Read(StreamErrorMessage({grpc::StatusCode::NOT_FOUND, "no such"}, "7"));
  EXPECT_EQ(message.error_message(), "no such");
  EXPECT_EQ(message.infer_response().id(), "7");
  EXPECT_EQ(message.infer_response().outputs_size(), 0);
  EXPECT_TRUE(message.infer_response()
                  .parameters()
                  .at("triton_final_response")
                  .bool_param());
}

}  // namespace
}  // namespace ferry

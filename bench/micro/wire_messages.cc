// Implements the codec benchmarks' messages: one raw input, cut into slices.
#include "bench/micro/wire_messages.h"

#include <grpcpp/support/slice.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "base/check.h"

namespace ferry::bench {
namespace {

constexpr size_t kFrameBytes = 16384;

std::vector<grpc::Slice> SlicesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  Check(buffer.Dump(&slices).ok(), "a buffer has its slices");
  return slices;
}

}  // namespace

ModelSpec RowModel(int64_t elements) {
  return {.inputs = {{"x", DataType::kFp32, {elements}}},
          .outputs = {{"y", DataType::kFp32, {elements}}},
          .max_batch_size = 64};
}

std::string RowContents(int64_t elements) {
  std::string bytes;
  for (int64_t i = 0; i < elements; ++i) {
    const auto element = static_cast<float>(i);
    bytes.append(reinterpret_cast<const char*>(&element), sizeof(element));
  }
  return bytes;
}

inference::ModelInferRequest RowRequest(int64_t elements) {
  inference::ModelInferRequest request;
  request.set_model_name("model");
  request.set_id("request-7");
  auto* const input = request.add_inputs();
  input->set_name("x");
  input->set_datatype("FP32");
  input->add_shape(1);
  input->add_shape(elements);
  request.add_raw_input_contents(RowContents(elements));
  return request;
}

grpc::ByteBuffer InFrames(const google::protobuf::MessageLite& message) {
  const std::string bytes = message.SerializeAsString();
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size(); at += kFrameBytes) {
    slices.emplace_back(bytes.data() + at,
                        std::min(kFrameBytes, bytes.size() - at));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

bool Holds(const grpc::ByteBuffer& buffer, const void* data) {
  const auto* const byte = static_cast<const uint8_t*>(data);
  const std::vector<grpc::Slice> slices = SlicesOf(buffer);
  return std::any_of(slices.begin(), slices.end(),
                     [byte](const grpc::Slice& slice) {
                       return !std::less<>()(byte, slice.begin()) &&
                              std::less<>()(byte, slice.end());
                     });
}

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  std::string bytes;
  for (const grpc::Slice& slice : SlicesOf(buffer)) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

}  // namespace ferry::bench

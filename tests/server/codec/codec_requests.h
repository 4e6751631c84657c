// RightRequest() makes a request for a model of two inputs; Decoded decodes it.
//
// Thread safety: free functions; Decoded is thread-compatible.
#ifndef FERRY_TESTS_SERVER_CODEC_CODEC_REQUESTS_H_
#define FERRY_TESTS_SERVER_CODEC_CODEC_REQUESTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "server/codec/infer_codec.h"
#include "tests/server/codec/message_bytes.h"

namespace ferry {

using inference::ModelInferRequest;

inline const std::string& ModelName() {
  static const std::string* const name = new std::string("m");
  return *name;
}

// Two inputs of a row: 'a' FP32 [3], 'b' INT64 [-1]; outputs 'x' and 'y'.
inline const ModelSpec& Spec() {
  static const ModelSpec* const spec = new ModelSpec{
      .inputs = {{"a", DataType::kFp32, {3}},
                 {"b", DataType::kInt64, {kAnySize}}},
      .outputs = {{"x", DataType::kFp32, {3}}, {"y", DataType::kInt64, {-1}}},
      .max_batch_size = 4};
  return *spec;
}

inline void AddInput(ModelInferRequest& request, const char* name,
                     const char* type, const std::vector<int64_t>& shape) {
  auto* input = request.add_inputs();
  input->set_name(name);
  input->set_datatype(type);
  for (int64_t dim : shape) {
    input->add_shape(dim);
  }
}

// Two rows, right in every way.
inline ModelInferRequest RightRequest() {
  ModelInferRequest request;
  request.set_model_name(ModelName());
  AddInput(request, "a", "FP32", {2, 3});
  AddInput(request, "b", "INT64", {2, 5});
  request.add_raw_input_contents(RawBytes<float>({1, 2, 3, 4, 5, 6}));
  request.add_raw_input_contents(
      RawBytes<int64_t>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  return request;
}

inline constexpr uint64_t kSerial = 1;

// A decoder with its message.
struct Decoded {
  explicit Decoded(const ModelInferRequest& message,
                   const ModelSpec& spec = Spec())
      : bytes(message.SerializeAsString()) {
    status = decoder.Parse(bytes.segments());
    if (status.ok()) {
      status = decoder.Bind({ModelName(), spec, kSerial}, request);
    }
  }

  MessageBytes bytes;
  InferDecoder decoder;
  InferRequest request;
  absl::Status status;
};

inline inference::InferParameter& Parameter(ModelInferRequest& request,
                                            const char* name) {
  return (*request.mutable_parameters())[name];
}

}  // namespace ferry

#endif  // FERRY_TESTS_SERVER_CODEC_CODEC_REQUESTS_H_

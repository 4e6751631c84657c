// Implements the checks: takes a batch through gather, reply, stream message.
#include "tests/fuzz/reply_checks.h"

#include <grpcpp/support/slice.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "batcher/batch.h"
#include "server/codec/infer_response.h"
#include "server/codec/stream_message.h"
#include "tests/server/codec/message_bytes.h"

namespace ferry {
namespace {

using inference::ModelInferResponse;

template <typename Message>
Message ReadBack(const grpc::ByteBuffer& buffer) {
  grpc::Slice bytes;
  Check(buffer.DumpToSingleSlice(&bytes).ok(), "a reply has bytes");
  Message message;
  Check(message.ParseFromArray(bytes.begin(), static_cast<int>(bytes.size())),
        "protobuf reads a reply");
  return message;
}

// Takes the next length-prefixed text from the front of `bytes`.
std::string TakeText(std::string& bytes) {
  uint32_t size = 0;
  Check(bytes.size() >= sizeof(size), "a class has a length");
  std::memcpy(&size, bytes.data(), sizeof(size));
  Check(bytes.size() - sizeof(size) >= size, "a class is whole");
  std::string text = bytes.substr(sizeof(size), size);
  bytes.erase(0, sizeof(size) + size);
  return text;
}

// Each row has `told` classes of `elements`: value:index, or with :label.
void CheckClasses(std::string bytes, int64_t rows, int64_t told,
                  int64_t elements, absl::Span<const std::string> labels) {
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<bool> seen(static_cast<size_t>(elements));
    for (int64_t i = 0; i < told; ++i) {
      const std::vector<std::string> parts =
          absl::StrSplit(TakeText(bytes), ':');
      size_t index = 0;
      Check(parts.size() >= 2 && absl::SimpleAtoi(parts[1], &index),
            "a class has an index");
      Check(index < seen.size() && !seen[index], "each class is told once");
      seen[index] = true;
      const std::string label = index < labels.size() ? labels[index] : "";
      Check(parts.size() == (label.empty() ? 2 : 3) &&
                (label.empty() || parts[2] == label),
            "a class has its label");
    }
  }
  Check(bytes.empty(), "classes are all of the contents");
}

void CheckOutput(const CodecModel& model, const AcceptedRequest& accepted,
                 const ModelInferResponse& response, int i) {
  const size_t index = accepted.decoder.outputs()[static_cast<size_t>(i)];
  const TensorSpec& spec = model.spec.outputs[index];
  const TensorView& input = accepted.request.inputs[index];
  const auto& output = response.outputs(i);
  const std::string& contents = response.raw_output_contents(i);
  const int64_t classes =
      accepted.decoder.classes().empty()
          ? 0
          : accepted.decoder.classes()[static_cast<size_t>(i)];
  std::vector<int64_t> shape(input.dims.begin(), input.dims.end());
  if (classes > 0) {
    int64_t elements = 1;
    for (const int64_t dim : shape) {
      elements *= dim;
    }
    const int64_t told = std::min(classes, elements);
    CheckClasses(contents, accepted.request.rows, told, elements,
                 index < model.labels.size()
                     ? absl::MakeConstSpan(model.labels[index])
                     : absl::Span<const std::string>());
    shape = {told};
  } else {
    Check(contents == Joined(input.segments), "an echo's rows are those sent");
  }
  if (model.spec.max_batch_size > 0) {
    shape.insert(shape.begin(), accepted.request.rows);
  }
  Check(output.name() == spec.name, "an output has its name");
  Check(output.datatype() == (classes > 0 ? "BYTES" : DataTypeName(spec.type)),
        "an output has its type");
  Check(std::equal(shape.begin(), shape.end(), output.shape().begin(),
                   output.shape().end()),
        "an output has its shape");
}

void CheckReply(const CodecModel& model, const AcceptedRequest& accepted,
                OutputRows rows) {
  const std::string version = "3";
  const InferDecoder& decoder = accepted.decoder;
  grpc::ByteBuffer reply = EncodeInferResponse({.model_name = model.name,
                                                .model_version = version,
                                                .id = decoder.id(),
                                                .spec = model.spec,
                                                .outputs = decoder.outputs(),
                                                .classes = decoder.classes(),
                                                .labels = model.labels,
                                                .rows = rows});
  const auto response = ReadBack<ModelInferResponse>(reply);
  const int outputs = static_cast<int>(decoder.outputs().size());
  Check(response.model_name() == model.name &&
            response.model_version() == version &&
            response.id() == decoder.id(),
        "a reply says of what it is");
  Check(response.outputs_size() == outputs &&
            response.raw_output_contents_size() == outputs,
        "a reply has the outputs wanted");
  for (int i = 0; i < outputs; ++i) {
    CheckOutput(model, accepted, response, i);
  }
  WrapInStreamMessage(reply);
  auto message = ReadBack<inference::ModelStreamInferResponse>(reply);
  Check(message.error_message().empty(), "a reply is no error");
  ModelInferResponse& streamed = *message.mutable_infer_response();
  Check(streamed.parameters().at("triton_final_response").bool_param(),
        "the last response says so");
  streamed.clear_parameters();
  Check(streamed.SerializeAsString() == response.SerializeAsString(),
        "a stream's reply is the reply");
}

}  // namespace

void CheckReplies(const CodecModel& model,
                  absl::Span<const AcceptedRequest> accepted) {
  Batch batch(static_cast<int32_t>(accepted.size()), 1);
  for (const AcceptedRequest& one : accepted) {
    batch.Add(one.request);
  }
  OutputRef output;
  Check(model.echo->Gather(batch).ok(), "an echo gathers");
  Check(model.echo->Compute(batch, output).ok(), "an echo answers");
  for (const Batch::Entry& entry : batch.entries()) {
    const AcceptedRequest& one =
        accepted[static_cast<size_t>(&entry - batch.entries().data())];
    CheckReply(model, one, {output.get(), entry.first_row, entry.rows});
  }
}

}  // namespace ferry

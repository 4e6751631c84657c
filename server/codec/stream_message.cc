// Implements stream messages: puts a head before the response and parameters
// behind it, since in the wire format fields may stand in any order.
#include "server/codec/stream_message.h"

#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/support/slice.h>

#include <array>
#include <vector>

#include "proto/inference.pb.h"
#include "server/codec/wire_reader.h"

namespace ferry {
namespace {

using google::protobuf::io::CodedOutputStream;
using inference::ModelStreamInferResponse;

constexpr size_t kMaxHeadBytes = 16;

// The field of the response that says that it is the last. Clients of Triton
// read it whether or not they have asked for it.
void SayFinal(inference::ModelInferResponse& response) {
  (*response.mutable_parameters())["triton_final_response"].set_bool_param(
      true);
}

const std::string& FinalParameter() {
  static const std::string bytes = [] {
    inference::ModelInferResponse response;
    SayFinal(response);
    return response.SerializeAsString();
  }();
  return bytes;
}

}  // namespace

void WrapInStreamMessage(grpc::ByteBuffer& response) {
  std::vector<grpc::Slice> parts;
  // Never fails for a buffer that holds no compressed bytes.
  (void)response.Dump(&parts);
  const size_t bytes = response.Length() + FinalParameter().size();
  parts.emplace_back(FinalParameter());
  std::array<uint8_t, kMaxHeadBytes> head;
  uint8_t* end = CodedOutputStream::WriteVarint64ToArray(
      uint64_t{ModelStreamInferResponse::kInferResponseFieldNumber} << 3 |
          static_cast<uint64_t>(WireType::kBytes),
      head.data());
  end = CodedOutputStream::WriteVarint64ToArray(bytes, end);
  parts.insert(
      parts.begin(),
      grpc::Slice(head.data(), static_cast<size_t>(end - head.data())));
  grpc::ByteBuffer(parts.data(), parts.size()).Swap(&response);
}

grpc::ByteBuffer StreamErrorMessage(const grpc::Status& status,
                                    const std::string& request_id) {
  ModelStreamInferResponse message;
  message.set_error_message(status.error_message());
  message.mutable_infer_response()->set_id(request_id);
  SayFinal(*message.mutable_infer_response());
  const grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace ferry

// Implements EchoService: makes replies once, and finds a request's id.
#include "bench/micro/echo_service.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace ferry::bench {

namespace {

// `id` is field 3 of both ModelInferRequest and ModelInferResponse.
constexpr int kIdField = 3;

// Returns the request's id field, tag and length included; empty without one.
absl::string_view FindIdField(absl::string_view message) {
  google::protobuf::io::CodedInputStream input(
      reinterpret_cast<const uint8_t*>(message.data()),
      static_cast<int>(message.size()));
  using google::protobuf::internal::WireFormatLite;
  while (true) {
    const int begin = input.CurrentPosition();
    const uint32_t tag = input.ReadTag();
    const int field = WireFormatLite::GetTagFieldNumber(tag);
    uint32_t size = 0;
    if (tag == 0 || field > kIdField || !input.ReadVarint32(&size) ||
        !input.Skip(static_cast<int>(size))) {
      return {};
    }
    if (field == kIdField) {
      return message.substr(
          static_cast<size_t>(begin),
          static_cast<size_t>(input.CurrentPosition() - begin));
    }
  }
}

}  // namespace

grpc::Slice MakeEchoReply(const EchoModel& model) {
  inference::ModelInferResponse reply;
  reply.set_model_name(model.name);
  reply.set_model_version("1");
  auto* output = reply.add_outputs();
  output->set_name("output");
  output->set_datatype("FP32");
  output->add_shape(1);
  output->add_shape(model.output_elements);
  reply.add_raw_output_contents()->assign(
      static_cast<size_t>(model.output_elements) * sizeof(float), '\0');
  return grpc::Slice(reply.SerializeAsString());
}

grpc::ByteBuffer AnswerWithId(const grpc::Slice& reply,
                              const grpc::ByteBuffer& request) {
  std::vector<grpc::Slice> received;
  if (request.Dump(&received).ok() && !received.empty()) {
    const absl::string_view id =
        FindIdField({reinterpret_cast<const char*>(received[0].begin()),
                     received[0].size()});
    if (!id.empty()) {
      const grpc::Slice slices[] = {grpc::Slice(id.data(), id.size()), reply};
      return grpc::ByteBuffer(slices, 2);
    }
  }
  return grpc::ByteBuffer(&reply, 1);
}

grpc::ByteBuffer AnswerByCopy(const EchoModel& model,
                              grpc::ByteBuffer* request) {
  inference::ModelInferRequest parsed;
  grpc::SerializationTraits<inference::ModelInferRequest>::Deserialize(request,
                                                                       &parsed);
  inference::ModelInferResponse reply;
  reply.set_model_name(model.name);
  reply.set_model_version("1");
  reply.set_id(parsed.id());
  if (parsed.raw_input_contents_size() > 0) {
    auto* output = reply.add_outputs();
    output->set_name("output");
    output->set_datatype("FP32");
    *output->mutable_shape() = parsed.inputs(0).shape();
    reply.add_raw_output_contents(parsed.raw_input_contents(0));
  }
  grpc::ByteBuffer bytes;
  bool is_owned = false;
  grpc::SerializationTraits<inference::ModelInferResponse>::Serialize(
      reply, &bytes, &is_owned);
  return bytes;
}

void FillEchoMetadata(const EchoModel& model,
                      inference::ModelMetadataResponse* reply) {
  reply->set_name(model.name);
  reply->add_versions(std::string("1"));
  reply->set_platform("grpc_echo");
  auto* input = reply->add_inputs();
  input->set_name("input");
  input->set_datatype("FP32");
  input->add_shape(-1);
  input->add_shape(model.input_elements);
  auto* output = reply->add_outputs();
  output->set_name("output");
  output->set_datatype("FP32");
  output->add_shape(-1);
  output->add_shape(model.output_elements);
}

void FillEchoConfig(const EchoModel& model,
                    inference::ModelConfigResponse* reply) {
  auto* config = reply->mutable_config();
  config->set_name(model.name);
  config->set_platform("grpc_echo");
  config->set_max_batch_size(64);
  auto* input = config->add_input();
  input->set_name("input");
  input->set_data_type(inference::TYPE_FP32);
  input->add_dims(model.input_elements);
  auto* output = config->add_output();
  output->set_name("output");
  output->set_data_type(inference::TYPE_FP32);
  output->add_dims(model.output_elements);
}

void FillEchoServerMetadata(inference::ServerMetadataResponse* reply) {
  reply->set_name("grpc-echo");
  reply->set_version("1");
}

CallbackEchoService::CallbackEchoService(const EchoModel& model)
    : EchoService(model), reply_(MakeEchoReply(model)) {}

grpc::ServerUnaryReactor* CallbackEchoService::ModelInfer(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* reply) {
  *reply = AnswerWithId(reply_, *request);
  return FinishOk(context);
}

}  // namespace ferry::bench

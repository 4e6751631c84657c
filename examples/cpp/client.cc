// This small client in C++ asks for one row and waits, then keeps many requests
// in flight, which the server batches.
//
//   ferry-example-client [ADDRESS [MODEL]]   # 127.0.0.1:8001, mlp
//
// For any model of one input, and that and its output FP32. Calls that a server
// cannot take now are sent again by gRPC. Exits 1 where anything goes wrong.
#include <grpc/support/time.h>
#include <grpcpp/grpcpp.h>

#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "proto/inference.grpc.pb.h"

namespace {

using inference::GRPCInferenceService;
using inference::ModelInferRequest;
using inference::ModelInferResponse;
using inference::ModelMetadataResponse;

constexpr int kRequests = 100;
constexpr int kTimeoutSeconds = 10;

// What gRPC sends again, and when: docs/reliability.md has the reasons. A
// server that drains, or whose queue is full, says itself how long to wait.
constexpr char kServiceConfig[] = R"({
  "methodConfig": [{
    "name": [{"service": "inference.GRPCInferenceService",
              "method": "ModelInfer"}],
    "retryPolicy": {
      "maxAttempts": 5,
      "initialBackoff": "0.1s",
      "maxBackoff": "2s",
      "backoffMultiplier": 2,
      "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"]
    }
  }],
  "retryThrottling": {"maxTokens": 100, "tokenRatio": 0.1}
})";

// Every call has a deadline: the server drops what can no longer meet it.
void SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                   gpr_time_from_seconds(kTimeoutSeconds, GPR_TIMESPAN)));
}

// Returns a request for one row, every element `value`, with the tensor as raw
// bytes, which costs no conversion on either side.
ModelInferRequest MakeRequest(const std::string& model,
                              const ModelMetadataResponse& metadata,
                              float value) {
  ModelInferRequest request;
  request.set_model_name(model);
  auto* input = request.add_inputs();
  input->set_name(metadata.inputs(0).name());
  input->set_datatype("FP32");
  size_t elements = 1;
  for (const int64_t any : metadata.inputs(0).shape()) {
    const int64_t size = any < 0 ? 1 : any;  // the batch dimension is -1
    input->add_shape(size);
    elements *= static_cast<size_t>(size);
  }
  const std::vector<float> values(elements, value);
  request.add_raw_input_contents(values.data(), values.size() * sizeof(float));
  return request;
}

float FirstValue(const ModelInferResponse& response) {
  float value = 0;
  std::memcpy(&value, response.raw_output_contents(0).data(), sizeof(value));
  return value;
}

bool Failed(const char* what, const grpc::Status& status) {
  if (!status.ok()) {
    std::cerr << what << ": " << status.error_message() << "\n";
  }
  return !status.ok();
}

bool AskOnce(GRPCInferenceService::Stub& stub,
             const ModelInferRequest& request) {
  grpc::ClientContext context;
  SetDeadline(context);
  ModelInferResponse response;
  if (Failed("infer", stub.ModelInfer(&context, request, &response))) {
    return false;
  }
  std::cout << "one request: " << response.outputs(0).name() << " begins with "
            << FirstValue(response) << "\n";
  return true;
}

// One request in flight; its address is the tag that comes back.
struct Call {
  grpc::ClientContext context;
  ModelInferResponse response;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncResponseReader<ModelInferResponse>> reader;
};

bool AskManyAtOnce(GRPCInferenceService::Stub& stub,
                   const ModelInferRequest& request) {
  grpc::CompletionQueue queue;
  std::vector<Call> calls(kRequests);
  for (Call& call : calls) {
    SetDeadline(call.context);
    call.reader = stub.AsyncModelInfer(&call.context, request, &queue);
    call.reader->Finish(&call.response, &call.status, &call);
  }
  int served = 0;
  for (int i = 0; i < kRequests; ++i) {
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    served += Failed("infer", static_cast<Call*>(tag)->status) ? 0 : 1;
  }
  queue.Shutdown();
  std::cout << served << " of " << kRequests << " in flight served\n";
  return served == kRequests;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string address = argc > 1 ? argv[1] : "127.0.0.1:8001";
  const std::string model = argc > 2 ? argv[2] : "mlp";
  grpc::ChannelArguments arguments;
  arguments.SetServiceConfigJSON(kServiceConfig);
  const auto stub = GRPCInferenceService::NewStub(grpc::CreateCustomChannel(
      address, grpc::InsecureChannelCredentials(), arguments));

  grpc::ClientContext context;
  SetDeadline(context);
  context.set_wait_for_ready(true);  // for a server that is just starting
  inference::ModelMetadataRequest question;
  question.set_name(model);
  ModelMetadataResponse metadata;
  if (Failed("metadata", stub->ModelMetadata(&context, question, &metadata))) {
    return 1;
  }
  const ModelInferRequest request = MakeRequest(model, metadata, 1.0f);
  return AskOnce(*stub, request) && AskManyAtOnce(*stub, request) ? 0 : 1;
}

// This client in C++ passes a row to a server on the same machine, and takes
// its answer, in shared memory: no byte of them crosses a socket.
//
//   ferry-server --allow-client-shm
//   ferry-example-shared-memory [ADDRESS [MODEL]]   # 127.0.0.1:8001, mlp
//
// For any model of one input and one output that are FP32 and of known sizes.
// Exits 1 where anything goes wrong.
#include <fcntl.h>
#include <grpc/support/time.h>
#include <grpcpp/grpcpp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <iostream>
#include <string>

#include "proto/inference.grpc.pb.h"

namespace {

using inference::GRPCInferenceService;
using inference::ModelMetadataResponse;
using TensorMetadata = ModelMetadataResponse::TensorMetadata;

constexpr int kTimeoutSeconds = 10;

// Memory that this process and the server share, by a name of its own.
class SharedMemory {
 public:
  explicit SharedMemory(size_t bytes)
      : name_("example-" + std::to_string(getpid())), bytes_(bytes) {
    const int object = shm_open(key().c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    if (object < 0) {
      return;
    }
    is_made_ = true;
    // Its pages are there before they are used, or it is no memory at all.
    if (posix_fallocate(object, 0, static_cast<off_t>(bytes)) == 0) {
      void* const at =
          mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, object, 0);
      data_ = at == MAP_FAILED ? nullptr : static_cast<char*>(at);
    }
    close(object);
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory() {
    if (data_ != nullptr) {
      munmap(data_, bytes_);
    }
    if (is_made_) {
      shm_unlink(key().c_str());
    }
  }

  const std::string& name() const { return name_; }
  std::string key() const { return "/" + name_; }
  size_t bytes() const { return bytes_; }
  char* data() const { return data_; }  // null: it could not be made

 private:
  const std::string name_;
  const size_t bytes_;
  bool is_made_ = false;
  char* data_ = nullptr;
};

// Makes a call with a deadline; says what failed.
template <typename Method, typename Request, typename Reply>
bool Call(GRPCInferenceService::Stub& stub, Method method,
          const Request& request, Reply& reply, const char* what) {
  grpc::ClientContext context;
  context.set_deadline(
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                   gpr_time_from_seconds(kTimeoutSeconds, GPR_TIMESPAN)));
  context.set_wait_for_ready(true);  // for a server that is just starting
  const grpc::Status status = (stub.*method)(&context, request, &reply);
  if (!status.ok()) {
    std::cerr << what << ": " << status.error_message() << "\n";
  }
  return status.ok();
}

size_t BytesOf(const TensorMetadata& tensor) {
  size_t elements = 1;
  for (const int64_t size : tensor.shape()) {
    elements *= size < 0 ? 1 : static_cast<size_t>(size);  // -1: one row
  }
  return elements * sizeof(float);
}

template <typename Tensor>
void Place(const SharedMemory& memory, size_t offset, size_t bytes,
           Tensor& tensor) {
  auto& parameters = *tensor.mutable_parameters();
  parameters["shared_memory_region"].set_string_param(memory.name());
  parameters["shared_memory_offset"].set_int64_param(
      static_cast<int64_t>(offset));
  parameters["shared_memory_byte_size"].set_int64_param(
      static_cast<int64_t>(bytes));
}

// The input lies first in the memory, the output behind it.
bool Infer(GRPCInferenceService::Stub& stub,
           const ModelMetadataResponse& metadata, const SharedMemory& memory) {
  const TensorMetadata& described = metadata.inputs(0);
  const size_t input_bytes = BytesOf(described);
  const float one = 1;
  for (size_t at = 0; at < input_bytes; at += sizeof(one)) {
    std::memcpy(memory.data() + at, &one, sizeof(one));
  }
  inference::ModelInferRequest request;
  request.set_model_name(metadata.name());
  auto& input = *request.add_inputs();
  input.set_name(described.name());
  input.set_datatype("FP32");
  for (const int64_t size : described.shape()) {
    input.add_shape(size < 0 ? 1 : size);
  }
  Place(memory, 0, input_bytes, input);
  auto& output = *request.add_outputs();
  output.set_name(metadata.outputs(0).name());
  Place(memory, input_bytes, memory.bytes() - input_bytes, output);
  inference::ModelInferResponse reply;
  if (!Call(stub, &GRPCInferenceService::Stub::ModelInfer, request, reply,
            "infer")) {
    return false;
  }
  float first = 0;
  std::memcpy(&first, memory.data() + input_bytes, sizeof(first));
  std::cout << output.name() << " begins with " << first << "\n";
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string address = argc > 1 ? argv[1] : "127.0.0.1:8001";
  using Stub = GRPCInferenceService::Stub;
  const auto stub = GRPCInferenceService::NewStub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  inference::ModelMetadataRequest question;
  question.set_name(argc > 2 ? argv[2] : "mlp");
  ModelMetadataResponse metadata;
  if (!Call(*stub, &Stub::ModelMetadata, question, metadata, "metadata")) {
    return 1;
  }
  const SharedMemory memory(BytesOf(metadata.inputs(0)) +
                            BytesOf(metadata.outputs(0)));
  if (memory.data() == nullptr) {
    std::cerr << "cannot make " << memory.bytes() << " bytes of memory in "
              << "/dev/shm; is it full?\n";
    return 1;
  }
  inference::SystemSharedMemoryRegisterRequest region;
  region.set_name(memory.name());
  region.set_key(memory.key());
  region.set_byte_size(memory.bytes());
  inference::SystemSharedMemoryRegisterResponse registered;
  if (!Call(*stub, &Stub::SystemSharedMemoryRegister, region, registered,
            "register")) {
    return 1;
  }
  const bool is_answered = Infer(*stub, metadata, memory);
  inference::SystemSharedMemoryUnregisterRequest over;
  over.set_name(memory.name());
  inference::SystemSharedMemoryUnregisterResponse unregistered;
  return Call(*stub, &Stub::SystemSharedMemoryUnregister, over, unregistered,
              "unregister") &&
                 is_answered
             ? 0
             : 1;
}

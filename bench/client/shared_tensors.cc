// Implements SharedTensors: an object is written, registered, and has its name
// taken.
#include "bench/client/shared_tensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/owned_fd.h"
#include "base/write_all.h"
#include "bench/client/request_pool.h"

namespace ferry::bench {
namespace {

using Request = inference::ModelInferRequest;
using Reply = inference::ModelInferResponse;

constexpr uint64_t kAlignment = 64;  // of a tensor: a line of the cache

uint64_t Aligned(uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// The next range of the region, and where the one after it begins.
class Ranges {
 public:
  explicit Ranges(std::string region) : region_(std::move(region)) {}

  // Has the tensor be in the next range; returns its offset.
  template <typename Tensor>
  uint64_t Put(uint64_t bytes, Tensor& tensor) {
    const uint64_t offset = end_;
    end_ += Aligned(bytes);
    auto& parameters = *tensor.mutable_parameters();
    parameters["shared_memory_region"].set_string_param(region_);
    parameters["shared_memory_byte_size"].set_int64_param(
        static_cast<int64_t>(bytes));
    if (offset > 0) {
      parameters["shared_memory_offset"].set_int64_param(
          static_cast<int64_t>(offset));
    }
    return offset;
  }

  uint64_t end() const { return end_; }

 private:
  const std::string region_;
  uint64_t end_ = 0;
};

absl::Status Failed(const char* what) {
  return absl::ResourceExhaustedError(
      absl::StrCat("cannot ", what, " shared memory: ", std::strerror(errno)));
}

absl::Status WriteAt(int object, uint64_t offset, const std::string& bytes) {
  lseek(object, static_cast<off_t>(offset), SEEK_SET);
  errno = WriteAll(object, bytes);
  return errno == 0 ? absl::OkStatus() : Failed("write");
}

// Moves the inputs of the request into the object.
absl::Status MoveInputs(int object, Request& request, Ranges& ranges) {
  for (int i = 0; i < request.inputs_size(); ++i) {
    const std::string& bytes = request.raw_input_contents(i);
    const uint64_t offset =
        ranges.Put(bytes.size(), *request.mutable_inputs(i));
    if (absl::Status status = WriteAt(object, offset, bytes); !status.ok()) {
      return status;
    }
  }
  request.clear_raw_input_contents();
  return absl::OkStatus();
}

// Asks for the outputs of that reply in ranges of their own.
void PlaceOutputs(const Reply& reply, Request& request, Ranges& ranges) {
  for (int i = 0; i < reply.outputs_size(); ++i) {
    auto& output = *request.add_outputs();
    output.set_name(reply.outputs(i).name());
    if (reply.outputs(i).datatype() != "BYTES" &&
        i < reply.raw_output_contents_size()) {
      ranges.Put(reply.raw_output_contents(i).size(), output);
    }
  }
}

// Has the server know all of the object.
absl::Status Register(const ModelClient& client, const std::string& name,
                      const std::string& key, int object, uint64_t bytes) {
  if (bytes == 0) {
    return absl::InvalidArgumentError(
        "expected tensors of at least a byte, got none");
  }
  // Its pages are there before the server writes to them.
  errno = posix_fallocate(object, 0, static_cast<off_t>(bytes));
  return errno == 0 ? client.RegisterRegion(name, key, bytes)
                    : Failed("make room in");
}

// Returns a name that no other object or region has: in a container each
// process may have the same number.
std::string NextName() {
  std::random_device random;
  return absl::StrFormat("ferry-bench-%d-%08x%08x", getpid(), random(),
                         random());
}

}  // namespace

absl::StatusOr<std::unique_ptr<SharedTensors>> SharedTensors::Create(
    std::unique_ptr<const ModelClient> client, const RequestModel& of,
    const Reply& reply) {
  const std::string name = NextName();
  const std::string key = "/" + name;
  const OwnedFd object(
      shm_open(key.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (object.get() < 0) {
    return Failed("make");
  }
  Ranges ranges(name);
  std::vector<grpc::ByteBuffer> requests;
  absl::Status moved;
  absl::Status status =
      ForEachRequest(of.metadata, of.config, of.options, [&](Request& request) {
        if (!moved.ok()) {
          return;
        }
        moved = MoveInputs(object.get(), request, ranges);
        PlaceOutputs(reply, request, ranges);
        requests.push_back(Serialized(request));
      });
  status.Update(moved);
  if (status.ok()) {
    status = Register(*client, name, key, object.get(), ranges.end());
  }
  shm_unlink(key.c_str());
  if (!status.ok()) {
    return absl::Status(status.code(),
                        absl::StrCat("--shared-memory: ", status.message()));
  }
  return std::unique_ptr<SharedTensors>(
      new SharedTensors(std::move(client), name, std::move(requests)));
}

SharedTensors::~SharedTensors() {
  // It waits for what is in flight; a server that has gone has none.
  (void)client_->UnregisterRegion(region_);
}

}  // namespace ferry::bench

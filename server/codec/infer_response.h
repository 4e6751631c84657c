// EncodeInferResponse writes a ModelInferResponse around output rows without
// copying large ones.
//
// Small fields are written here; an output's bytes are appended as a slice
// that references the output buffer, or copied where that is cheaper (below
// kMinReferencedBytes) or too many buffers are held (OutputBuffer::crowded).
// gRPC gives the reference back when the reply is written, on a thread of its
// own.
//
// Thread safety: free functions.
#ifndef FERRY_SERVER_CODEC_INFER_RESPONSE_H_
#define FERRY_SERVER_CODEC_INFER_RESPONSE_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/codec/infer_codec.h"
#include "tensor/output_buffer.h"
#include "tensor/tensor.h"

namespace ferry {

inline constexpr size_t kMinReferencedBytes = 2048;

struct InferResponseView {
  const std::string& model_name;
  const std::string& model_version;
  const std::string& id;
  const ModelSpec& spec;
  absl::Span<const size_t> outputs;  // indices of spec.outputs, in order
  // These are InferDecoder::classes() and ServedModel::labels.
  absl::Span<const int64_t> classes = {};
  absl::Span<const std::vector<std::string>> labels = {};
  absl::Span<const OutputRegion> regions = {};  // output_regions()
  OutputRows rows;                              // buffer is not null
};

// Writes the outputs that go into shared memory. Errors: INVALID_ARGUMENT where
// one has no room there, or its object has become shorter.
absl::Status WriteToRegions(const InferResponseView& response);

// Returns the message: outputs[i] and raw_output_contents[i] belong together.
// What is in shared memory has empty contents, and parameters that say where.
grpc::ByteBuffer EncodeInferResponse(const InferResponseView& response);

}  // namespace ferry

#endif  // FERRY_SERVER_CODEC_INFER_RESPONSE_H_

// ReadRequestParameters() and its like read the parameters of a
// ModelInferRequest, its inputs and its outputs.
//
// Thread safety: free functions over values.
// Errors: INVALID_ARGUMENT for a wrong type or value and for an unknown
// `triton_` name; UNIMPLEMENTED for what Ferry does not offer. An undefined
// name is passed over, as the protocol wants.
#ifndef FERRY_SERVER_CODEC_INFER_PARAMETERS_H_
#define FERRY_SERVER_CODEC_INFER_PARAMETERS_H_

#include <google/protobuf/map.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "proto/inference.pb.h"

namespace ferry {

using InferParameterMap =
    google::protobuf::Map<std::string, inference::InferParameter>;

struct RequestParameters {
  Duration timeout{0};    // from arrival; 0: none
  uint64_t priority = 0;  // from 1, the most urgent; 0: the model's default
};

absl::StatusOr<RequestParameters> ReadRequestParameters(
    const InferParameterMap& parameters);

// A part of a region of shared memory, in place of bytes in the message.
struct RegionRange {
  std::string region;   // its name; empty: the message has the bytes
  uint64_t offset = 0;  // in the region
  uint64_t bytes = 0;
};

// Returns the name of one that is about shared memory; null where none is.
const char* SharedMemoryParameter(const InferParameterMap& parameters);

absl::StatusOr<RegionRange> ReadInputParameters(
    const std::string& input, const InferParameterMap& parameters);

struct OutputParameters {
  int64_t classes = 0;  // that are wanted (classification.h); 0: values
  RegionRange range;    // where they go
};

absl::StatusOr<OutputParameters> ReadOutputParameters(
    const std::string& output, const InferParameterMap& parameters);

}  // namespace ferry

#endif  // FERRY_SERVER_CODEC_INFER_PARAMETERS_H_

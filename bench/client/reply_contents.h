// CheckReply() checks that a reply has what a model's outputs hold, in either
// form of the protocol: bytes of all outputs in raw_output_contents, or
// elements of all of them in their `contents`.
//
// Thread safety: a pure function.
#ifndef FERRY_BENCH_CLIENT_REPLY_CONTENTS_H_
#define FERRY_BENCH_CLIENT_REPLY_CONTENTS_H_

#include "absl/status/status.h"
#include "proto/inference.pb.h"

namespace ferry::bench {

// INTERNAL, with what was expected and what was found, where outputs are
// missing, only some are raw, or bytes or elements do not fit the shape that
// the reply itself gives. Metadata that names no outputs allows any.
absl::Status CheckReply(const inference::ModelInferResponse& reply,
                        const inference::ModelMetadataResponse& metadata);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_CLIENT_REPLY_CONTENTS_H_

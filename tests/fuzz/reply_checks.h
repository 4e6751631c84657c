// CheckReplies() serves requests of an echo as one batch, checks each reply.
//
// Thread safety: free function.
#ifndef FERRY_TESTS_FUZZ_REPLY_CHECKS_H_
#define FERRY_TESTS_FUZZ_REPLY_CHECKS_H_

#include "absl/types/span.h"
#include "batcher/infer_request.h"
#include "server/codec/infer_codec.h"
#include "tests/fuzz/codec_models.h"

namespace ferry {

struct AcceptedRequest {
  const InferDecoder& decoder;
  InferRequest& request;
};

// Gathers the rows of all, encodes a reply to each, and checks that protobuf
// reads from it what the request brought. REQUIRES: model.echo is not null; all
// are of one shape.
void CheckReplies(const CodecModel& model,
                  absl::Span<const AcceptedRequest> accepted);

}  // namespace ferry

#endif  // FERRY_TESTS_FUZZ_REPLY_CHECKS_H_

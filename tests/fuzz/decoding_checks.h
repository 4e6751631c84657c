// CheckBound() and its like check what must hold of a request that the codec
// took, against the bytes as protobuf reads them; a failure ends the process.
//
// Thread safety: free functions over values.
#ifndef FERRY_TESTS_FUZZ_DECODING_CHECKS_H_
#define FERRY_TESTS_FUZZ_DECODING_CHECKS_H_

#include "batcher/infer_request.h"
#include "proto/inference.pb.h"
#include "server/codec/infer_codec.h"
#include "server/codec/infer_message.h"

namespace ferry {

// The message holds what `reference` does, but for unknown fields.
void CheckFields(const InferMessage& message,
                 const inference::ModelInferRequest& reference);

// The request fits the model in names, types, shapes and sizes, and its rows
// are, byte for byte, those of `reference`.
void CheckBound(const ModelSpec& spec,
                const inference::ModelInferRequest& reference,
                const InferDecoder& decoder, const InferRequest& request);

// Both decoders made the same of the same bytes.
void CheckSame(const InferDecoder& a, const InferRequest& request_a,
               const InferDecoder& b, const InferRequest& request_b);

// A refusal that a client can be told: a code of the codec's, some text, all of
// it UTF-8 and short whatever was sent.
void CheckRefusal(const absl::Status& status, const std::string& id);

}  // namespace ferry

#endif  // FERRY_TESTS_FUZZ_DECODING_CHECKS_H_

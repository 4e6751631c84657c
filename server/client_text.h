// Shown() and its like format what a client sent, for messages to it.
//
// Thread safety: free functions over values.
#ifndef FERRY_SERVER_CLIENT_TEXT_H_
#define FERRY_SERVER_CLIENT_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "tensor/tensor.h"

namespace ferry {

// Returns the text as PrintableText(), cut after 128 bytes so that a message
// stays a message.
std::string Shown(const std::string& from_client);

// Returns "[2,3]".
std::string ShownShape(absl::Span<const int64_t> dims);

// Returns the shape a request for that tensor has, "[-1,3]" where the model
// has a batch dimension.
std::string ShownSpec(const ModelSpec& model, const TensorSpec& tensor);

}  // namespace ferry

#endif  // FERRY_SERVER_CLIENT_TEXT_H_

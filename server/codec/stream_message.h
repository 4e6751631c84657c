// WrapInStreamMessage() puts a ModelStreamInferResponse around an encoded
// ModelInferResponse, which is not copied.
//
// Thread safety: free functions.
#ifndef FERRY_SERVER_CODEC_STREAM_MESSAGE_H_
#define FERRY_SERVER_CODEC_STREAM_MESSAGE_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <string>

namespace ferry {

// Both messages say that they are the last of their request
// (`triton_final_response`).

// Replaces an encoded ModelInferResponse by the stream's message of it.
void WrapInStreamMessage(grpc::ByteBuffer& response);

// Returns the stream's message of a request that failed.
grpc::ByteBuffer StreamErrorMessage(const grpc::Status& status,
                                    const std::string& request_id);

}  // namespace ferry

#endif  // FERRY_SERVER_CODEC_STREAM_MESSAGE_H_

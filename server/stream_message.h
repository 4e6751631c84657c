// The wire format of a ModelStreamInferResponse around an encoded
// ModelInferResponse, which is not copied.
//
// Thread safety: free functions.
#ifndef FERRY_SERVER_STREAM_MESSAGE_H_
#define FERRY_SERVER_STREAM_MESSAGE_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <string>

namespace ferry {

// Whether a response says that it is the last one of its request, as a client
// asks for with `triton_enable_empty_final_response`.
enum class SaysFinal { kNo, kYes };

// Replaces an encoded ModelInferResponse by the stream's message of it.
void WrapInStreamMessage(SaysFinal says_final, grpc::ByteBuffer& response);

// Returns the stream's message of a request that failed.
grpc::ByteBuffer StreamErrorMessage(const grpc::Status& status,
                                    const std::string& request_id);

}  // namespace ferry

#endif  // FERRY_SERVER_STREAM_MESSAGE_H_

// RowModel(), RowRequest() and the rest make the messages of the codec's
// benchmarks: a model of one FP32 input and one output, a request for it as the
// network delivers it, and a reply read back.
//
// Thread safety: free functions.
#ifndef FERRY_BENCH_MICRO_WIRE_MESSAGES_H_
#define FERRY_BENCH_MICRO_WIRE_MESSAGES_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "proto/inference.pb.h"
#include "tensor/tensor.h"

namespace ferry::bench {

// 1 KiB of FP32, and an image of 3x224x224: 602,112 bytes.
inline constexpr int64_t kSmallElements = 256;
inline constexpr int64_t kImageElements = 3 * 224 * 224;

// Input "x" and output "y", FP32, rows of that many elements.
ModelSpec RowModel(int64_t elements);

// The bytes of a row: element i is i.
std::string RowContents(int64_t elements);

// One row for the model "model", raw.
inference::ModelInferRequest RowRequest(int64_t elements);

// The message in slices of 16 KiB, HTTP/2's smallest largest frame.
grpc::ByteBuffer InFrames(const google::protobuf::MessageLite& message);

// Whether `data` points into the buffer's memory.
bool Holds(const grpc::ByteBuffer& buffer, const void* data);

// Returns the buffer's bytes, one after the other.
std::string BytesOf(const grpc::ByteBuffer& buffer);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_MICRO_WIRE_MESSAGES_H_

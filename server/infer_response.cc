// The wire format of a ModelInferResponse, by hand.
#include "server/infer_response.h"

#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/support/slice.h>

#include <utility>

#include "absl/container/inlined_vector.h"
#include "batcher/data_type.h"
#include "proto/inference.pb.h"
#include "server/wire_reader.h"

namespace ferry {
namespace {

using google::protobuf::io::CodedOutputStream;
using inference::ModelInferResponse;
using OutputTensorMessage = ModelInferResponse::InferOutputTensor;

// Appends fields to a string.
class WireWriter {
 public:
  explicit WireWriter(std::string& out) : out_(out) {}

  void Varint(uint64_t value) {
    while (value >= 0x80) {
      out_.push_back(static_cast<char>(value | 0x80));
      value >>= 7;
    }
    out_.push_back(static_cast<char>(value));
  }
  // The tag and the length; the bytes follow.
  void Length(int field, size_t bytes) {
    Varint(static_cast<uint64_t>(field) << 3 |
           static_cast<uint64_t>(WireType::kBytes));
    Varint(bytes);
  }
  // proto3: an empty text is not written.
  void Text(int field, const char* text, size_t size) {
    if (size > 0) {
      Length(field, size);
      out_.append(text, size);
    }
  }
  void Text(int field, const std::string& text) {
    Text(field, text.data(), text.size());
  }

 private:
  std::string& out_;
};

// One reply that is being put together from bytes and referenced slices.
class Reply {
 public:
  Reply() { bytes_.reserve(kUsualBytes); }

  std::string& bytes() { return bytes_; }

  void Reference(OutputBuffer& buffer, std::byte* data, size_t size) {
    Flush();
    buffer.Ref();
    slices_.emplace_back(
        data, size,
        [](void* held) { static_cast<OutputBuffer*>(held)->Unref(); }, &buffer);
  }

  void Copy(const std::byte* data, size_t size) {
    Flush();
    slices_.emplace_back(data, size);
  }

  grpc::ByteBuffer Finish() {
    Flush();
    return grpc::ByteBuffer(slices_.data(), slices_.size());
  }

 private:
  static constexpr size_t kUsualBytes = 512;

  void Flush() {
    if (!bytes_.empty()) {
      slices_.emplace_back(bytes_);
      bytes_.clear();
    }
  }

  std::string bytes_;
  absl::InlinedVector<grpc::Slice, 4> slices_;
};

using Dims = absl::InlinedVector<int64_t, 8>;

Dims ShapeOf(const InferResponseView& response, const OutputTensor& tensor) {
  Dims dims;
  if (response.spec.max_batch_size > 0) {
    dims.push_back(response.rows.count);
  }
  dims.insert(dims.end(), tensor.row_dims.begin(), tensor.row_dims.end());
  return dims;
}

size_t VarintBytes(uint64_t value) {
  return CodedOutputStream::VarintSize64(value);
}

size_t TextBytes(size_t size) {  // of fields 1 to 15
  return size == 0 ? 0 : 1 + VarintBytes(size) + size;
}

void WriteOutput(const TensorSpec& spec, const Dims& dims, WireWriter& out) {
  const std::string type = DataTypeName(spec.type);
  size_t packed = 0;
  for (int64_t dim : dims) {
    packed += VarintBytes(static_cast<uint64_t>(dim));
  }
  out.Length(
      ModelInferResponse::kOutputsFieldNumber,
      TextBytes(spec.name.size()) + TextBytes(type.size()) + TextBytes(packed));
  out.Text(OutputTensorMessage::kNameFieldNumber, spec.name);
  out.Text(OutputTensorMessage::kDatatypeFieldNumber, type);
  if (packed > 0) {
    out.Length(OutputTensorMessage::kShapeFieldNumber, packed);
    for (int64_t dim : dims) {
      out.Varint(static_cast<uint64_t>(dim));
    }
  }
}

}  // namespace

grpc::ByteBuffer EncodeInferResponse(const InferResponseView& response) {
  Reply reply;
  WireWriter out(reply.bytes());
  out.Text(ModelInferResponse::kModelNameFieldNumber, response.model_name);
  out.Text(ModelInferResponse::kModelVersionFieldNumber,
           response.model_version);
  out.Text(ModelInferResponse::kIdFieldNumber, response.id);
  OutputBuffer& buffer = *response.rows.buffer;
  for (size_t output : response.outputs) {
    WriteOutput(response.spec.outputs[output],
                ShapeOf(response, buffer.tensors()[output]), out);
  }
  for (size_t output : response.outputs) {
    const OutputTensor& tensor = buffer.tensors()[output];
    std::byte* const data =
        tensor.data +
        tensor.row_bytes * static_cast<size_t>(response.rows.first);
    const size_t size =
        tensor.row_bytes * static_cast<size_t>(response.rows.count);
    out.Length(ModelInferResponse::kRawOutputContentsFieldNumber, size);
    if (size < kMinReferencedBytes) {
      reply.bytes().append(reinterpret_cast<const char*>(data), size);
    } else if (buffer.crowded()) {
      reply.Copy(data, size);
    } else {
      reply.Reference(buffer, data, size);
    }
  }
  return reply.Finish();
}

}  // namespace ferry

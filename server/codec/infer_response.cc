// Implements EncodeInferResponse: writes the wire format by hand.
#include "server/codec/infer_response.h"

#include <google/protobuf/io/coded_stream.h>
#include <grpc/slice.h>
#include <grpcpp/support/slice.h>

#include <cstring>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "proto/inference.pb.h"
#include "server/codec/classification.h"
#include "server/codec/wire_reader.h"
#include "tensor/data_type.h"

namespace ferry {
namespace {

using google::protobuf::io::CodedOutputStream;
using inference::ModelInferResponse;
using OutputTensorMessage = ModelInferResponse::InferOutputTensor;

constexpr size_t kMaxVarintBytes = 10;
constexpr size_t kMaxLengthBytes = 5 + kMaxVarintBytes;  // with the tag

// Writes fields behind each other.
class WireWriter {
 public:
  explicit WireWriter(uint8_t* to) : to_(to) {}

  const uint8_t* end() const { return to_; }

  void Varint(uint64_t value) {
    to_ = CodedOutputStream::WriteVarint64ToArray(value, to_);
  }
  // The tag and the length; the bytes follow.
  void Length(int field, size_t bytes) {
    Varint(static_cast<uint64_t>(field) << 3 |
           static_cast<uint64_t>(WireType::kBytes));
    Varint(bytes);
  }
  void Bytes(const void* data, size_t size) {
    if (size > 0) {
      std::memcpy(to_, data, size);
      to_ += size;
    }
  }
  // proto3: an empty text is not written.
  void Text(int field, absl::string_view text) {
    if (!text.empty()) {
      Length(field, text.size());
      Bytes(text.data(), text.size());
    }
  }

 private:
  uint8_t* to_;
};

size_t VarintBytes(uint64_t value) {
  return CodedOutputStream::VarintSize64(value);
}

size_t TextBytes(size_t size) {  // of fields 1 to 15
  return size == 0 ? 0 : 1 + VarintBytes(size) + size;
}

// What is said of one output, but for its contents.
struct OutputHead {
  absl::string_view name;
  absl::string_view type;
  int32_t rows;  // 0: no batch dimension
  absl::Span<const int64_t> row_dims;
  int64_t any_size;                   // in place of a kAnySize there
  absl::string_view parameters = {};  // fields, as protobuf wrote them

  size_t MaxBytes() const {
    return 4 * kMaxLengthBytes + name.size() + type.size() +
           (row_dims.size() + 1) * kMaxVarintBytes + parameters.size();
  }

  void Write(WireWriter& out) const {
    size_t packed = rows > 0 ? VarintBytes(static_cast<uint64_t>(rows)) : 0;
    for (const int64_t dim : row_dims) {
      packed += VarintBytes(SizeOf(dim));
    }
    out.Length(ModelInferResponse::kOutputsFieldNumber,
               TextBytes(name.size()) + TextBytes(type.size()) +
                   TextBytes(packed) + parameters.size());
    out.Text(OutputTensorMessage::kNameFieldNumber, name);
    out.Text(OutputTensorMessage::kDatatypeFieldNumber, type);
    if (packed > 0) {
      out.Length(OutputTensorMessage::kShapeFieldNumber, packed);
      if (rows > 0) {
        out.Varint(static_cast<uint64_t>(rows));
      }
      for (const int64_t dim : row_dims) {
        out.Varint(SizeOf(dim));
      }
    }
    out.Bytes(parameters.data(), parameters.size());
  }

 private:
  uint64_t SizeOf(int64_t dim) const {
    return static_cast<uint64_t>(dim == kAnySize ? any_size : dim);
  }
};

// What is said of one output, and its contents.
struct Output {
  OutputHead head;
  const std::byte* data;
  size_t bytes;
};

using Outputs = absl::InlinedVector<Output, 4>;

// Texts in place of values, kept until they are written.
struct Classes {
  std::string bytes;
  std::vector<int64_t> row_dims;
};

Output OutputOf(const InferResponseView& response, size_t output) {
  const TensorSpec& spec = response.spec.outputs[output];
  const OutputTensor& tensor = response.rows.buffer->tensors()[output];
  const ByteSegment rows =
      tensor.Rows(response.rows.first, response.rows.count);
  return {
      .head = {.name = spec.name,
               .type = DataTypeName(spec.type),
               .rows =
                   response.spec.max_batch_size > 0 ? response.rows.count : 0,
               .row_dims = tensor.row_dims,
               // Rows of BYTES differ in bytes, not in size.
               .any_size =
                   tensor.row_starts.empty() || spec.type == DataType::kBytes
                       ? kAnySize
                       : tensor.AnySize(response.rows.first,
                                        ElementSize(spec.type))},
      .data = rows.data,
      .bytes = rows.size};
}

// Replaces the values of outputs[i] by their largest.
void TellClasses(const InferResponseView& response, size_t i, Classes& classes,
                 Output& output) {
  const size_t index = response.outputs[i];
  const DataType type = response.spec.outputs[index].type;
  const int64_t rows = response.rows.count;
  const int64_t elements =
      static_cast<int64_t>(output.bytes / ElementSize(type)) / rows;
  classes.bytes = Classify(
      {.type = type, .data = output.data, .rows = rows, .elements = elements},
      response.classes[i],
      index < response.labels.size() ? response.labels[index]
                                     : absl::Span<const std::string>());
  classes.row_dims = {ToldClasses(response.classes[i], elements)};
  output.head.type = DataTypeName(DataType::kBytes);
  output.head.row_dims = classes.row_dims;
  output.data = reinterpret_cast<const std::byte*>(classes.bytes.data());
  output.bytes = classes.bytes.size();
}

// Returns the parameters that say where the output is, as fields of its
// message.
std::string ToldRange(const RegionRange& range, size_t bytes) {
  OutputTensorMessage message;
  auto& parameters = *message.mutable_parameters();
  parameters["shared_memory_region"].set_string_param(range.region);
  parameters["shared_memory_byte_size"].set_int64_param(
      static_cast<int64_t>(bytes));
  if (range.offset > 0) {
    parameters["shared_memory_offset"].set_int64_param(
        static_cast<int64_t>(range.offset));
  }
  return message.SerializeAsString();
}

// All but the raw contents.
size_t MaxHeadBytes(const InferResponseView& response, const Outputs& outputs) {
  size_t bytes = 3 * kMaxLengthBytes + response.model_name.size() +
                 response.model_version.size() + response.id.size();
  for (const Output& output : outputs) {
    bytes += output.head.MaxBytes();
  }
  return bytes;
}

void WriteHead(const InferResponseView& response, const Outputs& outputs,
               WireWriter& out) {
  out.Text(ModelInferResponse::kModelNameFieldNumber, response.model_name);
  out.Text(ModelInferResponse::kModelVersionFieldNumber,
           response.model_version);
  out.Text(ModelInferResponse::kIdFieldNumber, response.id);
  for (const Output& output : outputs) {
    output.head.Write(out);
  }
}

// A slice of what `write` writes, `max_bytes` at most.
template <typename Write>
grpc::Slice Written(size_t max_bytes, const Write& write) {
  grpc_slice slice = grpc_slice_malloc(max_bytes);
  WireWriter out(GRPC_SLICE_START_PTR(slice));
  write(out);
  GRPC_SLICE_SET_LENGTH(slice, out.end() - GRPC_SLICE_START_PTR(slice));
  return grpc::Slice(slice, grpc::Slice::STEAL_REF);
}

grpc::Slice Referenced(OutputBuffer& buffer, const Output& output) {
  buffer.Ref();
  return grpc::Slice(
      const_cast<std::byte*>(output.data), output.bytes,  // it only reads
      [](void* held) { static_cast<OutputBuffer*>(held)->Unref(); }, &buffer);
}

}  // namespace

absl::Status WriteToRegions(const InferResponseView& response) {
  for (size_t i = 0; i < response.regions.size(); ++i) {
    const auto& [range, region] = response.regions[i];
    if (region == nullptr) {
      continue;
    }
    const Output output = OutputOf(response, response.outputs[i]);
    absl::Status status;
    if (output.bytes > range.bytes) {
      status = absl::InvalidArgumentError(absl::StrCat(
          "expected a shared_memory_byte_size of at least ", output.bytes,
          " to hold the results, got ", range.bytes));
    } else {
      status = region->Write(range.offset, {output.data, output.bytes});
    }
    if (!status.ok()) {
      return absl::Status(
          status.code(),
          absl::StrCat("output '", output.head.name, "': ", status.message()));
    }
  }
  return absl::OkStatus();
}

grpc::ByteBuffer EncodeInferResponse(const InferResponseView& response) {
  OutputBuffer& buffer = *response.rows.buffer;
  Outputs outputs;
  for (size_t index : response.outputs) {
    outputs.push_back(OutputOf(response, index));
  }
  absl::InlinedVector<Classes, 1> classes(response.classes.size());
  for (size_t i = 0; i < response.classes.size(); ++i) {
    if (response.classes[i] > 0) {
      TellClasses(response, i, classes[i], outputs[i]);
    }
  }
  absl::InlinedVector<std::string, 1> told(response.regions.size());
  for (size_t i = 0; i < response.regions.size(); ++i) {
    if (response.regions[i].region != nullptr) {
      told[i] = ToldRange(response.regions[i].range, outputs[i].bytes);
      outputs[i].head.parameters = told[i];
      outputs[i].bytes = 0;
    }
  }
  const bool copies = buffer.crowded() || !classes.empty();
  absl::InlinedVector<grpc::Slice, 4> slices;
  size_t next = 0;
  do {
    // Small contents, up to the next large one, whose bytes are a slice of
    // their own.
    size_t max_bytes = next == 0 ? MaxHeadBytes(response, outputs) : 0;
    size_t large = next;
    for (; large < outputs.size(); ++large) {
      max_bytes += kMaxLengthBytes;
      if (outputs[large].bytes >= kMinReferencedBytes) {
        break;
      }
      max_bytes += outputs[large].bytes;
    }
    slices.push_back(Written(max_bytes, [&](WireWriter& out) {
      if (next == 0) {
        WriteHead(response, outputs, out);
      }
      for (size_t i = next; i < outputs.size() && i <= large; ++i) {
        out.Length(ModelInferResponse::kRawOutputContentsFieldNumber,
                   outputs[i].bytes);
        if (i < large) {
          out.Bytes(outputs[i].data, outputs[i].bytes);
        }
      }
    }));
    if (large < outputs.size()) {
      const Output& output = outputs[large];
      slices.push_back(copies ? grpc::Slice(output.data, output.bytes)
                              : Referenced(buffer, output));
    }
    next = large + 1;
  } while (next < outputs.size());
  return grpc::ByteBuffer(slices.data(), slices.size());
}

}  // namespace ferry

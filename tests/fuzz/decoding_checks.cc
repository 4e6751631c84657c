// Implements the checks from the protocol's text, not from the codec's.
#include "tests/fuzz/decoding_checks.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <grpcpp/support/slice.h>

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "base/check.h"
#include "server/codec/stream_message.h"
#include "server/grpc/status.h"
#include "tests/server/codec/message_bytes.h"

namespace ferry {
namespace {

using inference::InferTensorContents;
using inference::ModelInferRequest;
using Input = ModelInferRequest::InferInputTensor;

constexpr size_t kMaxRefusalBytes = 2048;

// The same bytes for equal messages, NaN and maps included.
std::string Canonical(const google::protobuf::Message& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&out);
  }
  return bytes;
}

template <typename Element, typename Values>
std::string Packed(const Values& values) {
  std::string bytes;
  for (const auto value : values) {
    const auto element = static_cast<Element>(value);
    if constexpr (std::is_integral_v<Element>) {
      Check(static_cast<decltype(value)>(element) == value,
            "values fit their type");
    }
    bytes.append(reinterpret_cast<const char*>(&element), sizeof(element));
  }
  return bytes;
}

// The elements of BYTES as raw contents have them.
std::string PackedTexts(const InferTensorContents& contents) {
  std::string bytes;
  for (const std::string& text : contents.bytes_contents()) {
    const auto size = static_cast<uint32_t>(text.size());
    bytes.append(reinterpret_cast<const char*>(&size), sizeof(size));
    bytes += text;
  }
  return bytes;
}

// Typed contents as a tensor of that type has them in memory.
std::string Packed(const InferTensorContents& contents, DataType type) {
  switch (type) {
    case DataType::kBool:
      return Packed<uint8_t>(contents.bool_contents());
    case DataType::kUint8:
      return Packed<uint8_t>(contents.uint_contents());
    case DataType::kUint16:
      return Packed<uint16_t>(contents.uint_contents());
    case DataType::kUint32:
      return Packed<uint32_t>(contents.uint_contents());
    case DataType::kUint64:
      return Packed<uint64_t>(contents.uint64_contents());
    case DataType::kInt8:
      return Packed<int8_t>(contents.int_contents());
    case DataType::kInt16:
      return Packed<int16_t>(contents.int_contents());
    case DataType::kInt32:
      return Packed<int32_t>(contents.int_contents());
    case DataType::kInt64:
      return Packed<int64_t>(contents.int64_contents());
    case DataType::kFp32:
      return Packed<float>(contents.fp32_contents());
    case DataType::kFp64:
      return Packed<double>(contents.fp64_contents());
    case DataType::kBytes:
      return PackedTexts(contents);
    case DataType::kFp16:
    case DataType::kBf16:
      break;
  }
  Check(false, "FP16 and BF16 have no typed contents");
  return "";
}

// The number of length-prefixed elements; -1 where the last is cut.
int64_t CountTexts(const std::string& bytes) {
  int64_t count = 0;
  size_t at = 0;
  for (; at < bytes.size(); ++count) {
    uint32_t size = 0;
    if (bytes.size() - at < sizeof(size)) {
      return -1;
    }
    std::memcpy(&size, bytes.data() + at, sizeof(size));
    at += sizeof(size);
    if (bytes.size() - at < size) {
      return -1;
    }
    at += size;
  }
  return count;
}

// Returns the place of the one input of that name; -1 where there is none.
int IndexOf(const ModelInferRequest& reference, const std::string& name) {
  int index = -1;
  for (int i = 0; i < reference.inputs_size(); ++i) {
    if (reference.inputs(i).name() == name) {
      Check(index < 0, "an input is taken once");
      index = i;
    }
  }
  return index;
}

// Returns the elements of all rows.
int64_t CheckShape(const ModelSpec& model, const TensorSpec& spec,
                   const Input& sent, const TensorView& view, int32_t rows) {
  std::vector<int64_t> dims(sent.shape().begin(), sent.shape().end());
  if (model.max_batch_size > 0) {
    Check(!dims.empty() && dims.front() == rows, "rows are as sent");
    dims.erase(dims.begin());
  } else {
    Check(rows == 1, "a request without a batch dimension is one row");
  }
  Check(view.dims == absl::MakeConstSpan(dims), "dims are as sent");
  Check(dims.size() == spec.dims.size(), "the rank is the model's");
  int64_t elements = rows;
  for (size_t i = 0; i < dims.size(); ++i) {
    Check(dims[i] >= 0, "a size is 0 or more, where the model's varies");
    Check(spec.dims[i] == kAnySize || spec.dims[i] == dims[i],
          "sizes are the model's");
    Check(!__builtin_mul_overflow(elements, dims[i], &elements),
          "elements can be counted");
  }
  return elements;
}

void CheckContents(const TensorSpec& spec, const std::string& bytes,
                   int64_t elements) {
  if (spec.type == DataType::kBytes) {
    Check(CountTexts(bytes) == elements, "as many texts as the shape says");
    return;
  }
  Check(bytes.size() == static_cast<size_t>(elements) * ElementSize(spec.type),
        "as many bytes as the shape says");
  if (spec.type == DataType::kBool) {
    Check(bytes.find_first_not_of(std::string("\0\1", 2)) == std::string::npos,
          "bools are 0 or 1");
  }
}

// Each size is as sent but for one that is padded, to the next.
void CheckPadding(const TensorSpec& spec, const TensorView& view) {
  Check(view.batch_dims().size() == view.dims.size(), "padding keeps the rank");
  for (size_t i = 0; i < view.dims.size(); ++i) {
    int64_t expected = view.dims[i];
    for (const int64_t size : spec.pads) {
      if (spec.dims[i] == kAnySize && size >= view.dims[i]) {
        expected = size;
        break;
      }
    }
    Check(view.batch_dims()[i] == expected, "a size is padded to the next");
  }
}

// A mask that was not sent: FP16 ones, one for each of what it follows.
void CheckMask(const ModelSpec& spec, size_t index,
               const InferRequest& request) {
  const TensorView& followed = request.inputs[*spec.inputs[index].follows];
  const int64_t size = request.inputs[index].dims[0];
  Check(size == followed.dims.back(), "a mask has the size that it follows");
  std::string ones;
  for (int64_t i = 0; i < request.rows * size; ++i) {
    ones += std::string("\0\x3C", 2);
  }
  Check(Joined(request.inputs[index].segments) == ones, "a mask is ones");
}

}  // namespace

void CheckFields(const InferMessage& message,
                 const ModelInferRequest& reference) {
  ModelInferRequest found = message.fields();
  Check(found.raw_input_contents().empty(), "raw contents are not copied");
  for (size_t i = 0; i < message.raw_count(); ++i) {
    std::string raw = Joined(message.raw(i));
    Check(raw.size() == message.raw_bytes(i), "raw sizes are of the runs");
    found.add_raw_input_contents(std::move(raw));
  }
  for (int i = 0; i < found.inputs_size(); ++i) {
    const auto at = static_cast<size_t>(i);
    Check(!found.inputs(i).has_contents(), "typed contents are not built");
    if (message.has_typed(at)) {
      Check(found.mutable_inputs(i)->mutable_contents()->ParseFromString(
                Joined(message.typed_pieces(at))),
            "typed contents are a message");
    }
  }
  ModelInferRequest expected = reference;
  expected.DiscardUnknownFields();
  found.DiscardUnknownFields();
  Check(Canonical(found) == Canonical(expected), "fields are as protobuf's");
}

void CheckBound(const ModelSpec& spec, const ModelInferRequest& reference,
                const InferDecoder& decoder, const InferRequest& request) {
  Check(request.inputs.size() == spec.inputs.size(), "a view for each input");
  Check(request.rows >= 1, "a request has rows");
  int given = 0;
  size_t bytes = 0;
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    const int index = IndexOf(reference, spec.inputs[i].name);
    CheckPadding(spec.inputs[i], request.inputs[i]);
    Check(request.inputs[i].is_given == (index >= 0 || spec.inputs[i].is_mask),
          "an input is given where it is sent");
    if (index < 0) {
      Check(spec.inputs[i].is_optional, "only optional inputs are left out");
      if (spec.inputs[i].is_mask) {
        CheckMask(spec, i, request);
      }
      continue;
    }
    ++given;
    const Input& sent = reference.inputs(index);
    Check(sent.datatype() == DataTypeName(spec.inputs[i].type),
          "types are the model's");
    const std::string found = Joined(request.inputs[i].segments);
    Check(found == (reference.raw_input_contents_size() > 0
                        ? reference.raw_input_contents(index)
                        : Packed(sent.contents(), spec.inputs[i].type)),
          "an input's bytes are those sent for it");
    const int64_t elements =
        CheckShape(spec, spec.inputs[i], sent, request.inputs[i], request.rows);
    CheckContents(spec.inputs[i], found, elements);
    bytes += found.size();
    if (spec.inputs[i].type == DataType::kBytes) {
      bytes += static_cast<size_t>(elements) * kBytesOfText;
    }
  }
  Check(given == reference.inputs_size(), "no other inputs are taken");
  Check(request.bytes == bytes, "bytes are those of all inputs and texts");
  const size_t wanted = static_cast<size_t>(reference.outputs_size());
  Check(decoder.outputs().size() == (wanted > 0 ? wanted : spec.outputs.size()),
        "the outputs wanted, or all");
  for (size_t i = 0; i < wanted; ++i) {
    Check(spec.outputs[decoder.outputs()[i]].name ==
              reference.outputs(static_cast<int>(i)).name(),
          "outputs are in the order wanted");
  }
}

void CheckSame(const InferDecoder& a, const InferRequest& request_a,
               const InferDecoder& b, const InferRequest& request_b) {
  Check(a.model_name() == b.model_name() && a.id() == b.id() &&
            a.model_version() == b.model_version(),
        "names are the same");
  Check(request_a.rows == request_b.rows, "rows are the same");
  Check(request_a.bytes == request_b.bytes, "bytes are the same");
  Check(request_a.shape_key == request_b.shape_key, "keys are the same");
  Check(a.outputs() == b.outputs(), "outputs are the same");
  Check(a.classes() == b.classes(), "classes are the same");
  Check(a.parameters().timeout == b.parameters().timeout &&
            a.parameters().priority == b.parameters().priority,
        "parameters are the same");
  Check(request_a.inputs.size() == request_b.inputs.size(),
        "inputs are the same");
  for (size_t i = 0; i < request_a.inputs.size(); ++i) {
    Check(request_a.inputs[i].is_given == request_b.inputs[i].is_given &&
              request_a.inputs[i].dims == request_b.inputs[i].dims,
          "shapes are the same");
    Check(Joined(request_a.inputs[i].segments) ==
              Joined(request_b.inputs[i].segments),
          "rows are the same");
  }
}

void CheckRefusal(const absl::Status& status, const std::string& id) {
  Check(status.code() == absl::StatusCode::kInvalidArgument ||
            status.code() == absl::StatusCode::kUnimplemented,
        "a refusal is INVALID_ARGUMENT or UNIMPLEMENTED");
  Check(!status.message().empty() && status.message().size() < kMaxRefusalBytes,
        "a refusal says why, shortly");
  const grpc::Status told = WithRequestId(ToGrpcStatus(status), id);
  grpc::Slice bytes;
  Check(StreamErrorMessage(told, id).DumpToSingleSlice(&bytes).ok(),
        "the stream's message has bytes");
  inference::ModelStreamInferResponse message;
  Check(message.ParseFromArray(bytes.begin(), static_cast<int>(bytes.size())),
        "the stream's message is one, its text UTF-8");
  Check(message.error_message() == told.error_message() &&
            message.infer_response().id() == id,
        "the stream's message is of this request");
}

}  // namespace ferry

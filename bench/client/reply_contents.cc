// Implements CheckReply(): compares counts by shape with counts found.
#include "bench/client/reply_contents.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensor/data_type.h"

namespace ferry::bench {
namespace {

using Output = inference::ModelInferResponse::InferOutputTensor;

// Past it a product of sizes is not exact; no reply holds as many.
constexpr double kMostElements = 1e15;

absl::Status Wrong(const std::string& expected, const std::string& found) {
  return absl::InternalError(
      absl::StrCat("first reply: expected ", expected, ", found ", found));
}

// Elements by its shape; nothing where that is no shape.
std::optional<int64_t> ElementsOf(const Output& output) {
  double count = 1;
  for (const int64_t dim : output.shape()) {
    count *= static_cast<double>(dim);
    if (dim < 0 || count > kMostElements) {
      return std::nullopt;
    }
  }
  return static_cast<int64_t>(count);
}

// The elements of its `contents`, in the field of its datatype. FP16 and BF16
// have none in the protocol; where a server puts them in bytes, nothing.
std::optional<int64_t> TypedElements(const Output& output, DataType type) {
  const inference::InferTensorContents& contents = output.contents();
  switch (type) {
    case DataType::kBool:
      return contents.bool_contents_size();
    case DataType::kInt8:
    case DataType::kInt16:
    case DataType::kInt32:
      return contents.int_contents_size();
    case DataType::kInt64:
      return contents.int64_contents_size();
    case DataType::kUint8:
    case DataType::kUint16:
    case DataType::kUint32:
      return contents.uint_contents_size();
    case DataType::kUint64:
      return contents.uint64_contents_size();
    case DataType::kFp32:
      return contents.fp32_contents_size();
    case DataType::kFp64:
      return contents.fp64_contents_size();
    case DataType::kBytes:
      return contents.bytes_contents_size();
    case DataType::kFp16:
    case DataType::kBf16:
      return contents.bytes_contents_size() > 0 ? std::nullopt
                                                : std::optional<int64_t>(0);
  }
  return std::nullopt;
}

// `raw`: its bytes; null: it is typed. A datatype that is not known is let
// pass.
absl::Status CheckOutput(const Output& output, const std::string* raw) {
  const std::string which =
      absl::StrCat("output '", output.name(), "', ", output.datatype(),
                   " of shape [", absl::StrJoin(output.shape(), ","), "], ");
  const auto elements = ElementsOf(output);
  if (!elements.has_value()) {
    return Wrong("a shape of sizes from 0 on",
                 absl::StrCat(which, "which is none"));
  }
  const auto type = ParseDataType(output.datatype());
  if (!type.has_value()) {
    return absl::OkStatus();
  }
  if (raw != nullptr) {
    const auto size = static_cast<int64_t>(ElementSize(*type));
    const auto bytes = static_cast<int64_t>(raw->size());
    return size == 0 || bytes == size * *elements
               ? absl::OkStatus()
               : Wrong(absl::StrCat(which, "in ", size * *elements, " bytes"),
                       absl::StrCat(bytes));
  }
  const int64_t found = TypedElements(output, *type).value_or(*elements);
  return found == *elements
             ? absl::OkStatus()
             : Wrong(absl::StrCat(which, "with ", *elements,
                                  " elements in its contents or in "
                                  "raw_output_contents"),
                     absl::StrCat(found));
}

}  // namespace

absl::Status CheckReply(const inference::ModelInferResponse& reply,
                        const inference::ModelMetadataResponse& metadata) {
  const int outputs = reply.outputs_size();
  const int expected = metadata.outputs_size();
  if (expected > 0 ? outputs != expected : outputs == 0) {
    return Wrong(expected > 0 ? absl::StrCat(expected, " outputs")
                              : "an output at least",
                 absl::StrCat(outputs));
  }
  const int raw = reply.raw_output_contents_size();
  if (raw != 0 && raw != outputs) {
    return Wrong(
        absl::StrCat("raw contents of all ", outputs, " outputs, or of none"),
        absl::StrCat(raw));
  }
  for (int i = 0; i < outputs; ++i) {
    const absl::Status checked = CheckOutput(
        reply.outputs(i), raw == 0 ? nullptr : &reply.raw_output_contents(i));
    if (!checked.ok()) {
      return checked;
    }
  }
  return absl::OkStatus();
}

}  // namespace ferry::bench

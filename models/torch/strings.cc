// Implements GatherStrings and CopyStrings: elements to strings, and back.
#include "models/torch/strings.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/checked_math.h"
#include "models/torch/shapes.h"
#include "tensor/bytes_elements.h"
#include "tensor/host_output_pool.h"

namespace ferry {

bool IsStrings(const c10::IValue& value) {
  return value.isList() &&
         value.toList().elementType()->kind() == c10::TypeKind::StringType;
}

Strings GatherStrings(const Batch& batch, size_t input, int64_t count) {
  Strings strings;
  strings.reserve(static_cast<size_t>(count));
  for (const Batch::Entry& entry : batch.entries()) {
    SegmentReader reader(entry.request->inputs[input].segments);
    while (!reader.at_end()) {
      uint32_t length = 0;
      std::string text;
      Check(ReadBytesLength(reader, length), "the length of an element");
      text.resize(length);
      Check(reader.Copy(length, reinterpret_cast<std::byte*>(text.data())),
            "the bytes of an element");
      strings.push_back(std::move(text));
    }
  }
  strings.resize(static_cast<size_t>(count));
  return strings;
}

absl::Status FindRowDims(const TensorSpec& spec, int64_t rows, int64_t strings,
                         std::vector<int64_t>& row_dims) {
  // Elements, but for the dimension that varies.
  std::optional<int64_t> counted = rows;
  auto varies = spec.dims.end();
  for (auto dim = spec.dims.begin(); dim != spec.dims.end(); ++dim) {
    if (*dim != kAnySize) {
      counted = counted.has_value() ? CheckedMultiply(*counted, *dim) : counted;
    } else if (varies == spec.dims.end()) {
      varies = dim;
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("output '", spec.name,
                       "': expected at most one dim of -1, as a list "
                       "of strings has no shape, got [",
                       absl::StrJoin(spec.dims, ","), "]"));
    }
  }
  if (!counted.has_value() || *counted == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "output '", spec.name, "': expected dims of some elements, got [",
        absl::StrJoin(spec.dims, ","), "]"));
  }
  const int64_t fixed = *counted;
  row_dims = spec.dims;
  if (varies == spec.dims.end() ? strings == fixed : strings % fixed == 0) {
    std::replace(row_dims.begin(), row_dims.end(), kAnySize, strings / fixed);
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("output '", spec.name, "': expected ",
                   varies == spec.dims.end() ? "" : "a multiple of ", fixed,
                   " strings for ", rows, " rows, the model gives ", strings));
}

void CopyStrings(const c10::IValue& strings, int32_t rows,
                 absl::Span<const int64_t> row_dims, size_t output,
                 OutputBuffer& buffer) {
  const c10::ArrayRef<c10::IValue> own = strings.toListRef().slice(
      0, static_cast<size_t>(rows * RowElements(row_dims)));
  size_t bytes = 0;
  for (const c10::IValue& text : own) {
    if (text.toStringView().size() > UINT32_MAX) {
      throw std::length_error("a string is longer than its length can say");
    }
    bytes += kBytesLengthSize + text.toStringView().size();
  }
  HostOutputPool::LayoutBytes(buffer, output, bytes, row_dims);
  OutputTensor& tensor = buffer.mutable_tensors()[output];
  std::byte* to = tensor.data;
  for (const c10::IValue& text : own) {
    to = WriteBytesElement(text.toStringView(), to);
  }
  IndexBytesRows(rows, bytes, tensor);
}

}  // namespace ferry

// Implements Classify(): finds the largest values of each row.
#include "server/codec/classification.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "tensor/bytes_elements.h"

namespace ferry {
namespace {

// NaN is less than everything, so that the order is one.
template <typename Value>
bool IsLess(Value a, Value b) {
  if constexpr (std::is_floating_point_v<Value>) {
    return std::isnan(a) ? !std::isnan(b) : a < b;
  } else {
    return a < b;
  }
}

template <typename Value>
std::string ClassifyAs(const ClassifiedRows& rows, int64_t count,
                       absl::Span<const std::string> labels) {
  const auto elements = static_cast<size_t>(rows.elements);
  const auto told = static_cast<ptrdiff_t>(ToldClasses(count, rows.elements));
  std::vector<Value> values(elements);
  std::vector<size_t> indices(elements);
  std::string out;
  for (int64_t row = 0; row < rows.rows; ++row) {
    const size_t bytes = elements * sizeof(Value);
    std::memcpy(values.data(), rows.data + static_cast<size_t>(row) * bytes,
                bytes);
    std::iota(indices.begin(), indices.end(), size_t{0});
    std::partial_sort(indices.begin(), indices.begin() + told, indices.end(),
                      [&](size_t a, size_t b) {
                        if (IsLess(values[b], values[a])) {
                          return true;
                        }
                        return !IsLess(values[a], values[b]) && a < b;
                      });
    for (ptrdiff_t i = 0; i < told; ++i) {
      const size_t index = indices[static_cast<size_t>(i)];
      std::string text =
          std::to_string(values[index]) + ":" + std::to_string(index);
      if (index < labels.size() && !labels[index].empty()) {
        text += ":" + labels[index];
      }
      AppendBytesElement(text, out);
    }
  }
  return out;
}

// Calls `run` with a value of the tensors' type.
template <typename Call>
std::string WithType(DataType type, const Call& run) {
  switch (type) {
    case DataType::kUint8:
      return run(uint8_t{});
    case DataType::kUint16:
      return run(uint16_t{});
    case DataType::kUint32:
      return run(uint32_t{});
    case DataType::kUint64:
      return run(uint64_t{});
    case DataType::kInt8:
      return run(int8_t{});
    case DataType::kInt16:
      return run(int16_t{});
    case DataType::kInt32:
      return run(int32_t{});
    case DataType::kInt64:
      return run(int64_t{});
    case DataType::kFp32:
      return run(float{});
    case DataType::kFp64:
      return run(double{});
    default:
      return "";
  }
}

}  // namespace

bool HasClasses(DataType type) {
  return type != DataType::kBool && type != DataType::kFp16 &&
         type != DataType::kBf16 && type != DataType::kBytes;
}

std::string Classify(const ClassifiedRows& rows, int64_t count,
                     absl::Span<const std::string> labels) {
  return WithType(rows.type, [&](auto value) {
    return ClassifyAs<decltype(value)>(rows, count, labels);
  });
}

}  // namespace ferry

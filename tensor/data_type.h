// DataType is the element type of a tensor, with the protocol's name and size.
//
// Thread safety: free functions over values.
#ifndef FERRY_TENSOR_DATA_TYPE_H_
#define FERRY_TENSOR_DATA_TYPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ferry {

enum class DataType : uint8_t {
  kBool,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFp16,
  kFp32,
  kFp64,
  kBf16,
  kBytes,  // elements of differing sizes, each behind a length
};

// Returns the bytes of one element; 0 for kBytes.
size_t ElementSize(DataType type);

// Returns the name the protocol uses: "FP32", "INT64", "BF16", ...
const char* DataTypeName(DataType type);

// Returns the type of that name, or nothing for a name the protocol lacks.
std::optional<DataType> ParseDataType(std::string_view name);

}  // namespace ferry

#endif  // FERRY_TENSOR_DATA_TYPE_H_

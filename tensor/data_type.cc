// Implements DataType with one table; names as in the Open Inference Protocol.
#include "tensor/data_type.h"

#include <array>

namespace ferry {
namespace {

struct Row {
  DataType type;
  const char* name;
  size_t bytes;
};

constexpr std::array kTypes = {
    Row{DataType::kBool, "BOOL", 1},     Row{DataType::kUint8, "UINT8", 1},
    Row{DataType::kUint16, "UINT16", 2}, Row{DataType::kUint32, "UINT32", 4},
    Row{DataType::kUint64, "UINT64", 8}, Row{DataType::kInt8, "INT8", 1},
    Row{DataType::kInt16, "INT16", 2},   Row{DataType::kInt32, "INT32", 4},
    Row{DataType::kInt64, "INT64", 8},   Row{DataType::kFp16, "FP16", 2},
    Row{DataType::kFp32, "FP32", 4},     Row{DataType::kFp64, "FP64", 8},
    Row{DataType::kBf16, "BF16", 2},     Row{DataType::kBytes, "BYTES", 0},
};

constexpr const Row& RowOf(DataType type) {
  return kTypes[static_cast<size_t>(type)];
}

constexpr bool IsInOrder() {
  for (size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].type != static_cast<DataType>(i)) {
      return false;
    }
  }
  return true;
}
static_assert(IsInOrder(), "kTypes is indexed by DataType");

}  // namespace

size_t ElementSize(DataType type) { return RowOf(type).bytes; }

const char* DataTypeName(DataType type) { return RowOf(type).name; }

std::optional<DataType> ParseDataType(std::string_view name) {
  for (const Row& row : kTypes) {
    if (name == row.name) {
      return row.type;
    }
  }
  return std::nullopt;
}

}  // namespace ferry

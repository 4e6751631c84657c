// ToScalarType and others map Ferry's types and precisions to LibTorch's.
//
// Thread safety: free functions over values.
#ifndef FERRY_MODELS_TORCH_TYPES_H_
#define FERRY_MODELS_TORCH_TYPES_H_

#include <c10/core/ScalarType.h>

#include <optional>

#include "base/check.h"
#include "models/config/model_options.h"
#include "tensor/data_type.h"

namespace ferry {

// REQUIRES: a type that a config may name for these backends.
inline at::ScalarType ToScalarType(DataType type) {
  switch (type) {
    case DataType::kBool:
      return at::kBool;
    case DataType::kUint8:
      return at::kByte;
    case DataType::kInt8:
      return at::kChar;
    case DataType::kInt16:
      return at::kShort;
    case DataType::kInt32:
      return at::kInt;
    case DataType::kInt64:
      return at::kLong;
    case DataType::kFp16:
      return at::kHalf;
    case DataType::kBf16:
      return at::kBFloat16;
    case DataType::kFp32:
      return at::kFloat;
    case DataType::kFp64:
      return at::kDouble;
    default:
      Check(false, "LibTorch computes with the type");
      return at::kFloat;
  }
}

// Returns the type on the wire of LibTorch's, or nothing for one that no config
// may name for these backends.
inline std::optional<DataType> FromScalarType(at::ScalarType type) {
  for (const DataType wire :
       {DataType::kBool, DataType::kUint8, DataType::kInt8, DataType::kInt16,
        DataType::kInt32, DataType::kInt64, DataType::kFp16, DataType::kBf16,
        DataType::kFp32, DataType::kFp64}) {
    if (ToScalarType(wire) == type) {
      return wire;
    }
  }
  return std::nullopt;
}

// For kNative, returns the type of floats that Ferry makes itself.
inline at::ScalarType ToScalarType(Precision precision) {
  return precision == Precision::kBf16 ? at::kBFloat16 : at::kFloat;
}

// Returns the type of a wire type's elements inside the model: floats have the
// model's precision, others and those of kNative their own.
inline at::ScalarType ComputeType(DataType wire, Precision precision) {
  const at::ScalarType type = ToScalarType(wire);
  return at::isFloatingType(type) && precision != Precision::kNative
             ? ToScalarType(precision)
             : type;
}

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_TYPES_H_

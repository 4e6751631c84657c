// SafetensorsFile opens a .safetensors file, checks and reads its tensors.
//
// The file is an 8-byte little-endian header size, a JSON header that names
// each tensor with its type, shape and byte range, and the bytes.
//
// Guarantees: every range of an open file lies inside it, matches type and
// shape, and overlaps no other; the ranges together are all of the bytes.
//
// Thread safety: constant after Open(); any thread.
// Errors: INVALID_ARGUMENT with what was expected and what was found,
// NOT_FOUND where the file cannot be opened. A file may change while it is
// open: it is read, not mapped, so one that shrinks is an error.
#ifndef FERRY_MODELS_FILES_SAFETENSORS_H_
#define FERRY_MODELS_FILES_SAFETENSORS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tensor/data_type.h"

namespace ferry {

struct SafetensorsTensor {
  std::string name;
  DataType type = DataType::kFp32;
  std::vector<int64_t> shape;
  // Little-endian, row-major: where in the file.
  uint64_t offset = 0;
  uint64_t size = 0;  // bytes
};

class SafetensorsFile {
 public:
  // Headers larger than this are refused.
  static constexpr uint64_t kMaxHeaderBytes = uint64_t{16} << 20;

  static absl::StatusOr<std::unique_ptr<SafetensorsFile>> Open(
      const std::string& path);
  ~SafetensorsFile();
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  // In the order of their bytes.
  absl::Span<const SafetensorsTensor> tensors() const { return tensors_; }

  // Returns the tensor of that name, or null.
  const SafetensorsTensor* Find(absl::string_view name) const;

  // Reads all of a tensor's bytes. INVALID_ARGUMENT where the file has them no
  // longer.
  // REQUIRES: `tensor` is of this file, and `to` has its size.
  absl::Status Read(const SafetensorsTensor& tensor,
                    absl::Span<std::byte> to) const;

 private:
  SafetensorsFile(std::string path, int descriptor)
      : path_(std::move(path)), descriptor_(descriptor) {}

  const std::string path_;
  const int descriptor_;
  std::vector<SafetensorsTensor> tensors_;
};

}  // namespace ferry

#endif  // FERRY_MODELS_FILES_SAFETENSORS_H_

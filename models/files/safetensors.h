// SafetensorsFile maps a .safetensors file and checks its tensors.
//
// The file is an 8-byte little-endian header size, a JSON header that names
// each tensor with its type, shape and byte range, and the bytes.
//
// Guarantees: every range of an open file lies inside it, matches type and
// shape, and overlaps no other; the ranges together are all of the bytes.
//
// Thread safety: constant after Open(); any thread.
// Errors: INVALID_ARGUMENT with what was expected and what was found,
// NOT_FOUND where the file cannot be opened. A file that shrinks while it is
// mapped ends the process (SIGBUS): replace model files by rename.
#ifndef FERRY_MODELS_FILES_SAFETENSORS_H_
#define FERRY_MODELS_FILES_SAFETENSORS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tensor/data_type.h"

namespace ferry {

// A read-only mapping of a whole file; empty when default-constructed.
class MappedFile {
 public:
  // NOT_FOUND where it cannot be opened or is no regular file.
  static absl::StatusOr<MappedFile> Open(const std::string& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  absl::Span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(absl::Span<const std::byte> bytes) : bytes_(bytes) {}

  absl::Span<const std::byte> bytes_;
};

struct SafetensorsTensor {
  std::string name;
  DataType type = DataType::kFp32;
  std::vector<int64_t> shape;
  // Little-endian, row-major, alignment 1. Lives as long as its file.
  absl::Span<const std::byte> bytes;
};

class SafetensorsFile {
 public:
  // Headers larger than this are refused.
  static constexpr uint64_t kMaxHeaderBytes = uint64_t{16} << 20;

  static absl::StatusOr<std::unique_ptr<SafetensorsFile>> Open(
      const std::string& path);

  // In the order of their bytes.
  absl::Span<const SafetensorsTensor> tensors() const { return tensors_; }

  // Returns the tensor of that name, or null.
  const SafetensorsTensor* Find(absl::string_view name) const;

 private:
  SafetensorsFile() = default;

  MappedFile file_;
  std::vector<SafetensorsTensor> tensors_;
};

}  // namespace ferry

#endif  // FERRY_MODELS_FILES_SAFETENSORS_H_

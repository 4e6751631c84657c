// Implements LoadOpLibrary: opens a library for all, counts its new operators.
#include "models/torch/op_library.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>
#include <torch/version.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "models/files/read_file.h"
#include "models/torch/aoti/elf_library.h"
#include "models/torch/libtorch_name.h"

namespace ferry {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 31;

int CountOperators() {
  return static_cast<int>(c10::Dispatcher::singleton().getAllOpNames().size());
}

absl::StatusOr<int> Open(const std::string& path) {
  const int before = CountOperators();
  // With a slash, so that no other library of that name is looked for.
  const std::string absolute = std::filesystem::absolute(path).string();
  if (dlopen(absolute.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot open op library '", path, "': ", dlerror(),
                     " (expected one built for torch ", TORCH_VERSION, ")"));
  }
  return CountOperators() - before;
}

}  // namespace

absl::StatusOr<int> LoadOpLibrary(const std::string& path) {
  if (access(path.c_str(), R_OK) != 0) {
    return absl::NotFoundError(
        absl::StrCat("cannot read op library '", path, "'"));
  }
  if (absl::Status status = OpenLibtorchName(); !status.ok()) {
    return status;
  }
  const absl::StatusOr<std::string> bytes = ReadFile(path, kMaxBytes);
  if (!bytes.ok()) {
    return bytes.status();
  }
  if (absl::Status status = CheckIsWhole(
          {reinterpret_cast<const std::byte*>(bytes->data()), bytes->size()});
      !status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("op library '", path, "': ", status.message()));
  }
  // What registers while the library is opened may throw.
  try {
    return Open(path);
  } catch (const c10::Error& error) {
    return absl::InvalidArgumentError(absl::StrCat(
        "op library '", path, "': ", error.what_without_backtrace()));
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("op library '", path, "': ", error.what()));
  }
}

}  // namespace ferry

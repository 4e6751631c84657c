// Implements OpenLibtorchName: opens the stand-in once.
#include "models/torch/libtorch_name.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace ferry {
namespace {

// Its name on the disk is another one than that by which the loader knows it,
// so that a search for torch's does not find it.
constexpr char kStandIn[] = "libferry_libtorch.so";

absl::Status Open() {
  if (dlopen("libtorch.so", RTLD_LAZY | RTLD_NOLOAD) != nullptr ||
      dlopen(kStandIn, RTLD_NOW | RTLD_GLOBAL) != nullptr) {
    return absl::OkStatus();
  }
  return absl::NotFoundError(
      absl::StrCat("cannot open ", kStandIn, ": ", dlerror()));
}

}  // namespace

absl::Status OpenLibtorchName() {
  static const absl::Status status = Open();
  return status;
}

}  // namespace ferry

// Implements Library: opens, starts and closes the library.
#include "models/nvml/library.h"

#include <dlfcn.h>

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace ferry::nvml {
namespace {

// Returns the text up to its 0, and no more than there is room for.
std::string ToString(const char* text, size_t size) {
  return std::string(text, std::find(text, text + size, '\0'));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Library>> Library::Open(
    const std::string& file) {
  void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("expected ", file,
                     ", which comes with NVIDIA's driver, got: ", dlerror()));
  }
  std::unique_ptr<Library> library(
      new Library([handle](const char* name) { return dlsym(handle, name); }));
  library->handle_ = handle;
  if (absl::Status status = library->Init(); !status.ok()) {
    return status;
  }
  return library;
}

absl::StatusOr<std::unique_ptr<Library>> Library::Start(SymbolLookup lookup) {
  std::unique_ptr<Library> library(new Library(std::move(lookup)));
  if (absl::Status status = library->Init(); !status.ok()) {
    return status;
  }
  return library;
}

Library::~Library() {
  if (is_started_) {
    Call(symbols_.shutdown, Subject::kSystem);
  }
  if (handle_ != nullptr) {
    dlclose(handle_);
  }
}

absl::Status Library::Init() {
  if (symbols_.init.pointer == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("expected NVIDIA's management library, got one without ",
                     symbols_.init.name));
  }
  const Code code = Call(symbols_.init, Subject::kSystem);
  if (code != Code::kSuccess) {
    return absl::FailedPreconditionError(
        absl::StrCat("expected ", symbols_.init.name,
                     " to find NVIDIA's driver, got ", CodeName(code)));
  }
  is_started_ = true;
  return absl::OkStatus();
}

std::optional<std::string> Library::GetText(
    const Function<Code(DeviceHandle, char*, uint32_t)>& function,
    Subject subject, DeviceHandle device) const {
  char text[std::max(kUuidSize, kNameSize)] = {};
  const uint32_t size = sizeof(text);
  if (Call(function, subject, device, &text[0], size) != Code::kSuccess) {
    return std::nullopt;
  }
  return ToString(text, size);
}

std::optional<std::string> Library::SystemText(
    const Function<Code(char*, uint32_t)>& function) const {
  char text[kVersionSize] = {};
  const uint32_t size = sizeof(text);
  if (Call(function, Subject::kSystem, &text[0], size) != Code::kSuccess) {
    return std::nullopt;
  }
  return ToString(text, size);
}

std::optional<std::string> Library::DriverVersion() const {
  return SystemText(symbols_.driver_version);
}

std::optional<std::string> Library::NvmlVersion() const {
  return SystemText(symbols_.nvml_version);
}

}  // namespace ferry::nvml

// Implements ParseDevice: reads the text of --device.
#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "models/nvml/device_choice.h"

namespace ferry::nvml {
namespace {

constexpr absl::string_view kGpuPrefix = "GPU-";
constexpr absl::string_view kMigPrefix = "MIG-";
constexpr size_t kPrefixSize = 4;
constexpr size_t kUuidDigits = 36;  // with four hyphens

absl::Status WrongDevice(absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("--device: expected cpu, only, cuda:N, GPU-<uuid> or "
                   "MIG-<uuid>, got '",
                   text, "'"));
}

// Hexadecimal digits and hyphens, at least one digit.
bool IsUuidText(absl::string_view text) {
  const auto is_digit = [](char c) {
    return absl::ascii_isxdigit(static_cast<unsigned char>(c));
  };
  return !text.empty() && text.size() <= kUuidDigits && is_digit(text[0]) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return c == '-' || is_digit(c); });
}

}  // namespace

absl::StatusOr<DeviceSelector> ParseDevice(absl::string_view text) {
  using Kind = DeviceSelector::Kind;
  DeviceSelector selector;
  if (text == "cpu") {
    return selector;
  }
  if (text == "only") {
    selector.kind = Kind::kOnly;
    return selector;
  }
  if (absl::string_view number = text; absl::ConsumePrefix(&number, "cuda:")) {
    // SimpleAtoi would take "+1" and " 1".
    const bool has_digits =
        !number.empty() &&
        std::all_of(number.begin(), number.end(), [](char c) {
          return absl::ascii_isdigit(static_cast<unsigned char>(c));
        });
    selector.kind = Kind::kCudaIndex;
    if (!has_digits || !absl::SimpleAtoi(number, &selector.index)) {
      return WrongDevice(text);
    }
    return selector;
  }
  if (absl::StartsWith(text, "MIG-GPU-")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--device: expected MIG-<uuid> as nvidia-smi -L prints it, got '", text,
        "', a name of drivers before R470"));
  }
  const bool is_gpu = absl::StartsWith(text, kGpuPrefix);
  if ((!is_gpu && !absl::StartsWith(text, kMigPrefix)) ||
      !IsUuidText(text.substr(kPrefixSize))) {
    return WrongDevice(text);
  }
  selector.kind = is_gpu ? Kind::kGpuUuid : Kind::kMigUuid;
  selector.uuid = std::string(text);
  return selector;
}

}  // namespace ferry::nvml

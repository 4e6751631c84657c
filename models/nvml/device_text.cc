// Implements Describe, ToSysfsBusId and MigProfile: devices in words.
#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "models/nvml/devices.h"

namespace ferry::nvml {
namespace {

constexpr size_t kDomainDigits = 4;  // at least, in sysfs

std::string DescribeMig(const MigDevice& mig) {
  return mig.profile.empty() ? mig.uuid
                             : absl::StrCat(mig.uuid, " ", mig.profile);
}

std::string DescribeGpu(const Gpu& gpu) {
  std::string text = absl::StrCat("GPU ", gpu.index, " ", gpu.uuid);
  std::vector<std::string> facts;
  if (!gpu.name.empty()) {
    facts.push_back(gpu.name);
  }
  if (gpu.is_mig_on.has_value()) {
    facts.push_back(*gpu.is_mig_on ? "MIG on" : "MIG off");
    if (gpu.will_mig_be_on != gpu.is_mig_on) {
      facts.push_back(*gpu.will_mig_be_on ? "on after a reset"
                                          : "off after a reset");
    }
  }
  if (!facts.empty()) {
    absl::StrAppend(&text, " (", absl::StrJoin(facts, ", "), ")");
  }
  if (gpu.is_mig_on.value_or(false)) {
    std::vector<std::string> parts;
    for (const MigDevice& mig : gpu.mig_devices) {
      parts.push_back(DescribeMig(mig));
    }
    absl::StrAppend(
        &text, ": ",
        parts.empty() ? "no MIG device" : absl::StrJoin(parts, ", "));
  }
  return text;
}

}  // namespace

std::string Describe(const Devices& devices) {
  std::vector<std::string> parts;
  for (const Gpu& gpu : devices.gpus) {
    parts.push_back(DescribeGpu(gpu));
  }
  for (const UnreadGpu& gpu : devices.unread) {
    parts.push_back(
        absl::StrCat("GPU ", gpu.index, " unread: ", CodeName(gpu.code)));
  }
  return parts.empty() ? "no GPU" : absl::StrJoin(parts, "; ");
}

std::string ToSysfsBusId(const std::string& bus_id) {
  std::string result = absl::AsciiStrToLower(bus_id);
  const size_t digits = result.find(':');
  if (digits != std::string::npos && digits > kDomainDigits) {
    const size_t zeros = std::min(result.find_first_not_of('0'), digits);
    result.erase(0, std::min(zeros, digits - kDomainDigits));
  }
  return result;
}

std::string MigProfile(const std::string& name,
                       const std::optional<DeviceAttributes>& attributes,
                       const std::optional<uint64_t>& gpu_memory_bytes) {
  constexpr char kMark[] = "MIG ";
  if (const size_t mark = name.rfind(kMark); mark != std::string::npos) {
    return name.substr(mark + sizeof(kMark) - 1);
  }
  if (!attributes.has_value() || gpu_memory_bytes.value_or(0) == 0) {
    return "";
  }
  constexpr double kParts = 8;
  constexpr uint64_t kMib = uint64_t{1} << 20;
  constexpr uint64_t kGib = uint64_t{1} << 30;
  const double share = static_cast<double>(attributes->memory_mib * kMib) /
                       static_cast<double>(*gpu_memory_bytes);
  const auto gpu_gib =
      static_cast<double>((*gpu_memory_bytes + kGib - 1) / kGib);
  const auto gib = std::lround(std::ceil(share * kParts) / kParts * gpu_gib);
  const uint32_t gpu_slices = attributes->gpu_instance_slice_count;
  const uint32_t compute_slices = attributes->compute_instance_slice_count;
  const std::string whole = absl::StrCat(gpu_slices, "g.", gib, "gb");
  return compute_slices == gpu_slices
             ? whole
             : absl::StrCat(compute_slices, "c.", whole);
}

}  // namespace ferry::nvml

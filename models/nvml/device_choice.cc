// Implements Choose: finds the device that is meant, or says why there is none.
#include "models/nvml/device_choice.h"

#include <algorithm>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace ferry::nvml {
namespace {

using Kind = DeviceSelector::Kind;

// A device that fits: a GPU, or one of its MIG devices.
struct Match {
  const Gpu* gpu = nullptr;
  const MigDevice* mig = nullptr;  // null: the whole GPU

  const std::string& uuid() const {
    return mig == nullptr ? gpu->uuid : mig->uuid;
  }
};

std::string Seen(const Devices& devices) {
  return absl::StrCat("; NVML sees: ", Describe(devices));
}

std::string NameOf(const DeviceSelector& selector) {
  if (selector.kind == Kind::kOnly) {
    return "only";
  }
  return selector.kind == Kind::kCudaIndex
             ? absl::StrCat("cuda:", selector.index)
             : selector.uuid;
}

std::vector<Match> AllDevices(const Devices& devices) {
  std::vector<Match> all;
  for (const Gpu& gpu : devices.gpus) {
    all.push_back({&gpu, nullptr});
    for (const MigDevice& mig : gpu.mig_devices) {
      all.push_back({&gpu, &mig});
    }
  }
  return all;
}

absl::StatusOr<Match> FindByUuid(const std::string& uuid,
                                 const Devices& devices) {
  std::vector<Match> found;
  for (const Match& match : AllDevices(devices)) {
    if (absl::EqualsIgnoreCase(match.uuid(), uuid)) {
      return match;
    }
    if (absl::StartsWithIgnoreCase(match.uuid(), uuid)) {
      found.push_back(match);
    }
  }
  if (found.empty()) {
    return absl::NotFoundError(
        absl::StrCat("--device: expected a device that NVML sees, got ", uuid,
                     Seen(devices)));
  }
  if (found.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--device: expected more of the UUID, as ", found.size(),
                     " devices begin with ", uuid, Seen(devices)));
  }
  return found[0];
}

absl::StatusOr<Match> FindByIndex(uint32_t index, const Devices& devices) {
  for (const UnreadGpu& gpu : devices.unread) {
    if (gpu.index == index) {
      return absl::FailedPreconditionError(absl::StrCat(
          "--device: expected cuda:", index, " to be readable, got ",
          CodeName(gpu.code), Seen(devices)));
    }
  }
  for (const Gpu& gpu : devices.gpus) {
    if (gpu.index == index) {
      return Match{&gpu, nullptr};
    }
  }
  return absl::NotFoundError(absl::StrCat(
      "--device: expected a device that NVML sees, got cuda:", index,
      Seen(devices)));
}

// Whether a process may be given it as it is. A GPU that does not tell its MIG
// mode is left to CheckMig().
bool IsWholeDevice(const Match& match) {
  return match.mig != nullptr || !match.gpu->is_mig_on.value_or(false);
}

// Finds the one device among those that `is_visible` holds for; `bound` says in
// words which those are.
absl::StatusOr<Match> FindOnly(
    const Devices& devices, const std::string& bound,
    absl::FunctionRef<bool(const Match&)> is_visible) {
  std::vector<Match> found;
  for (const Match& match : AllDevices(devices)) {
    if (IsWholeDevice(match) && is_visible(match)) {
      found.push_back(match);
    }
  }
  if (found.size() == 1) {
    return found[0];
  }
  const std::string text =
      absl::StrCat("--device: expected one device", bound,
                   ", a GPU without MIG or a MIG device, for only, got ",
                   found.size(), Seen(devices));
  return found.empty() ? absl::NotFoundError(text)
                       : absl::FailedPreconditionError(text);
}

// Refuses what CUDA would not take for what it is called.
absl::Status CheckMig(const DeviceSelector& selector, const Match& match,
                      const Devices& devices) {
  if (match.gpu->is_mig_unread) {
    return absl::FailedPreconditionError(absl::StrCat(
        "--device: expected to be told whether MIG mode is on, for ",
        NameOf(selector), "; NVML does not tell", Seen(devices)));
  }
  const bool is_mig_on = match.gpu->is_mig_on.value_or(false);
  if (match.mig == nullptr && is_mig_on) {
    return absl::FailedPreconditionError(
        absl::StrCat("--device: expected MIG-<uuid>, as MIG mode is on, got ",
                     NameOf(selector), Seen(devices)));
  }
  if (match.mig != nullptr && !is_mig_on) {
    return absl::FailedPreconditionError(absl::StrCat(
        "--device: expected MIG mode to be on for ", NameOf(selector),
        ", but it is off on its GPU", Seen(devices)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ParseVisible(
    const std::string& visible) {
  std::vector<std::string> uuids;
  for (absl::string_view entry : absl::StrSplit(visible, ',')) {
    entry = absl::StripAsciiWhitespace(entry);
    const absl::StatusOr<DeviceSelector> one = ParseDevice(entry);
    if (!one.ok() || one->uuid.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "CUDA_VISIBLE_DEVICES: expected UUIDs (GPU-... or MIG-...), whose "
          "order does not depend on CUDA's, got '",
          visible, "'; unset it, or write UUIDs"));
    }
    uuids.push_back(one->uuid);
  }
  return uuids;
}

// Finds the device among those that are visible.
absl::StatusOr<Match> FindVisible(const DeviceSelector& selector,
                                  const std::string& visible,
                                  const Devices& devices) {
  const absl::StatusOr<std::vector<std::string>> uuids = ParseVisible(visible);
  if (!uuids.ok()) {
    return uuids.status();
  }
  if (selector.kind == Kind::kCudaIndex) {
    if (selector.index >= uuids->size()) {
      return absl::NotFoundError(
          absl::StrCat("--device: expected one of the ", uuids->size(),
                       " devices of CUDA_VISIBLE_DEVICES=", visible,
                       ", got cuda:", selector.index, Seen(devices)));
    }
    return FindByUuid((*uuids)[selector.index], devices);
  }
  const auto is_visible = [&uuids](const Match& match) {
    return std::any_of(uuids->begin(), uuids->end(),
                       [&match](const std::string& entry) {
                         return absl::StartsWithIgnoreCase(match.uuid(), entry);
                       });
  };
  if (selector.kind == Kind::kOnly) {
    return FindOnly(devices, absl::StrCat(" of CUDA_VISIBLE_DEVICES=", visible),
                    is_visible);
  }
  const absl::StatusOr<Match> match = FindByUuid(selector.uuid, devices);
  if (!match.ok()) {
    return match;
  }
  if (!is_visible(*match)) {
    return absl::FailedPreconditionError(
        absl::StrCat("--device: expected one of CUDA_VISIBLE_DEVICES=", visible,
                     ", got ", match->uuid(), Seen(devices)));
  }
  return match;
}

absl::StatusOr<Match> Find(const DeviceSelector& selector,
                           const Devices& devices,
                           const std::optional<std::string>& visible) {
  if (visible.has_value()) {
    return FindVisible(selector, *visible, devices);
  }
  if (selector.kind == Kind::kOnly) {
    return FindOnly(devices, "", [](const Match&) { return true; });
  }
  return selector.kind == Kind::kCudaIndex
             ? FindByIndex(selector.index, devices)
             : FindByUuid(selector.uuid, devices);
}

// One that cannot be read might have been a second one. NVML counts those, too,
// that the process has no permission for: they are others'.
void WarnOfUnread(const Devices& devices, DeviceChoice& choice) {
  for (const UnreadGpu& gpu : devices.unread) {
    if (gpu.code != Code::kNoPermission) {
      choice.warnings.push_back(absl::StrCat(
          "GPU ", gpu.index, " cannot be read: ", CodeName(gpu.code),
          "; only chose ", choice.uuid));
    }
  }
}

// Compute instances of one GPU instance have processors of their own, and the
// instance's memory together.
void ShareMemory(const Gpu& gpu, const MigDevice& mig, DeviceChoice& choice) {
  std::vector<std::string> others;
  for (const MigDevice& other : gpu.mig_devices) {
    if (mig.gpu_instance.has_value() &&
        other.gpu_instance == mig.gpu_instance && other.uuid != mig.uuid) {
      others.push_back(other.uuid);
    }
  }
  if (others.empty()) {
    return;
  }
  choice.memory_sharers = others.size() + 1;
  choice.warnings.push_back(absl::StrCat(
      mig.uuid, " shares the memory of its GPU instance with ",
      absl::StrJoin(others, ", "), ": models here have 1/",
      choice.memory_sharers,
      " of it at most; make one compute instance of a GPU instance where they "
      "are to have all"));
}

std::string WithoutPrefix(absl::string_view uuid) {
  const bool has_prefix =
      absl::StartsWith(uuid, "GPU-") || absl::StartsWith(uuid, "MIG-");
  return absl::AsciiStrToLower(has_prefix ? uuid.substr(4) : uuid);
}

}  // namespace

absl::StatusOr<DeviceChoice> Choose(const DeviceSelector& selector,
                                    const Devices& devices,
                                    const std::optional<std::string>& visible) {
  const absl::StatusOr<Match> match = Find(selector, devices, visible);
  if (!match.ok()) {
    return match.status();
  }
  // An entry of CUDA_VISIBLE_DEVICES may name a MIG device by cuda:N: the list
  // says which.
  if (absl::Status status = CheckMig(selector, *match, devices); !status.ok()) {
    return status;
  }
  const Gpu& gpu = *match->gpu;
  DeviceChoice choice;
  choice.uuid = match->uuid();
  choice.pci_bus_id = gpu.pci_bus_id;
  if (const MigDevice* const mig = match->mig; mig != nullptr) {
    choice.parent_uuid = gpu.uuid;
    choice.name = mig->name.empty() ? gpu.name : mig->name;
    choice.profile = mig->profile;
    choice.multiprocessor_count = mig->multiprocessor_count;
    choice.memory_bytes = mig->memory_bytes;
    ShareMemory(gpu, *mig, choice);
  } else {
    choice.name = gpu.name;
    choice.memory_bytes = gpu.memory_bytes;
  }
  if (selector.kind == Kind::kOnly) {
    WarnOfUnread(devices, choice);
  }
  if (gpu.will_mig_be_on != gpu.is_mig_on) {
    choice.warnings.push_back(absl::StrCat(
        "MIG mode of ", gpu.uuid,
        " changes with the GPU's next reset: ", choice.uuid, " is gone then"));
  }
  return choice;
}

absl::Status CheckVisible(const DeviceChoice& choice,
                          absl::Span<const std::string> seen,
                          const Devices& devices) {
  if (seen.size() == 1 &&
      WithoutPrefix(seen[0]) == WithoutPrefix(choice.uuid)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "--device: expected CUDA to see ", choice.uuid, " and nothing else, got ",
      seen.empty() ? "no device" : absl::StrJoin(seen, ", "), Seen(devices)));
}

std::string Describe(const DeviceChoice& choice) {
  std::vector<std::string> parts = {absl::StrCat("uuid=", choice.uuid)};
  const auto add = [&parts](const char* name, const std::string& value) {
    if (!value.empty()) {
      parts.push_back(absl::StrCat(name, "=", value));
    }
  };
  add("parent", choice.parent_uuid);
  add("name", absl::StrReplaceAll(choice.name, {{" ", "_"}}));
  add("profile", choice.profile);
  if (choice.multiprocessor_count.has_value()) {
    add("multiprocessors", absl::StrCat(*choice.multiprocessor_count));
  }
  if (choice.memory_bytes.has_value()) {
    add("memory_bytes", absl::StrCat(*choice.memory_bytes));
  }
  if (choice.memory_sharers > 1) {
    add("memory_sharers", absl::StrCat(choice.memory_sharers));
  }
  add("pci", choice.pci_bus_id);
  return absl::StrJoin(parts, " ");
}

}  // namespace ferry::nvml

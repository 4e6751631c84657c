// ferry-nvml prints what NVML sees of this machine's devices and what they
// measure, as JSON, and each call with its return code, as a table.
//
//   ferry-nvml            devices and readings, as JSON
//   ferry-nvml --calls    the calls that this took, as a table
//   ferry-nvml --library FILE   another libnvidia-ml.so.1
//
// Exit codes: 0; 1 where there is no library, no driver, or a wrong flag.
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "models/nvml/device_choice.h"
#include "models/nvml/device_sampler.h"
#include "models/nvml/devices.h"
#include "models/nvml/library.h"
#include "models/nvml/numa_node.h"

namespace ferry::nvml {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kUsage[] =
    "Usage: ferry-nvml [--calls] [--library FILE]\n"
    "\n"
    "Prints the GPUs and MIG devices of this machine and what they measure, "
    "as\n"
    "JSON. What cannot be read is left out.\n"
    "\n"
    "  --calls         print each call of NVML with its code instead, and how\n"
    "                  often it came\n"
    "  --library FILE  open this instead of libnvidia-ml.so.1\n";

// Long enough for GPM, which wants more than 100 ms between two samples.
constexpr Duration kInterval = GpmSampler::kMinInterval * 2;

struct Flags {
  std::string library = kLibraryName;
  bool prints_calls = false;
  bool prints_help = false;
};

template <typename Value>
void Add(Json& out, const char* name, const std::optional<Value>& value) {
  if (value.has_value()) {
    out[name] = *value;
  }
}

Json ToJson(const DeviceReadings& readings) {
  Json out = Json::object();
  Add(out, "memory_total_bytes", readings.memory_total_bytes);
  Add(out, "memory_used_bytes", readings.memory_used_bytes);
  Add(out, "memory_reserved_bytes", readings.memory_reserved_bytes);
  Add(out, "gpm_graphics_ratio", readings.gpm.graphics_ratio);
  Add(out, "gpm_sm_ratio", readings.gpm.sm_ratio);
  Add(out, "gpm_sm_occupancy_ratio", readings.gpm.sm_occupancy_ratio);
  Add(out, "gpm_tensor_ratio", readings.gpm.tensor_ratio);
  Add(out, "gpm_hmma_ratio", readings.gpm.hmma_ratio);
  Add(out, "gpm_dram_ratio", readings.gpm.dram_ratio);
  Add(out, "gpm_pcie_sent_bytes_per_second",
      readings.gpm.pcie_sent_bytes_per_second);
  Add(out, "gpm_pcie_received_bytes_per_second",
      readings.gpm.pcie_received_bytes_per_second);
  Add(out, "gpu_power_watts", readings.power_watts);
  Add(out, "gpu_power_limit_watts", readings.power_limit_watts);
  Add(out, "gpu_energy_joules", readings.energy_joules);
  Add(out, "gpu_temperature_celsius", readings.temperature_celsius);
  Add(out, "gpu_sm_clock_hertz", readings.sm_clock_hertz);
  Add(out, "gpu_memory_clock_hertz", readings.memory_clock_hertz);
  Add(out, "gpu_busy_ratio", readings.busy_ratio);
  Add(out, "gpu_memory_busy_ratio", readings.memory_busy_ratio);
  return out;
}

// Reads twice, so that GPM has an interval.
Json Measure(const Library& library, const std::string& uuid) {
  const auto sampler = DeviceSampler::Create(library, uuid);
  if (!sampler.ok()) {
    return Json::object();
  }
  Mutex mutex;
  CondVar never_signaled;
  const TimePoint until = Clock::Steady().Now() + kInterval;
  MutexLock lock(mutex);
  while (Clock::Steady().Now() < until) {
    never_signaled.WaitUntil(mutex, until);
  }
  return ToJson((*sampler)->Read());
}

Json ToJson(const Library& library, const MigDevice& mig) {
  Json out = {{"uuid", mig.uuid}, {"place", mig.place}, {"name", mig.name}};
  if (!mig.profile.empty()) {
    out["profile"] = mig.profile;
  }
  Add(out, "gpu_instance", mig.gpu_instance);
  Add(out, "compute_instance", mig.compute_instance);
  Add(out, "multiprocessor_count", mig.multiprocessor_count);
  Add(out, "memory_bytes", mig.memory_bytes);
  out["readings"] = Measure(library, mig.uuid);
  return out;
}

Json ToJson(const Library& library, const Gpu& gpu) {
  Json out = {{"index", gpu.index}, {"uuid", gpu.uuid}, {"name", gpu.name}};
  if (!gpu.pci_bus_id.empty()) {
    out["pci_bus_id"] = gpu.pci_bus_id;
  }
  Add(out, "numa_node", NumaNode(gpu.pci_bus_id));
  Add(out, "memory_bytes", gpu.memory_bytes);
  Add(out, "is_mig_on", gpu.is_mig_on);
  Add(out, "will_mig_be_on", gpu.will_mig_be_on);
  out["readings"] = Measure(library, gpu.uuid);
  out["mig_devices"] = Json::array();
  for (const MigDevice& mig : gpu.mig_devices) {
    out["mig_devices"].push_back(ToJson(library, mig));
  }
  return out;
}

Json ToJson(const Library& library, const Devices& devices) {
  Json out = Json::object();
  Add(out, "driver_version", library.DriverVersion());
  Add(out, "nvml_version", library.NvmlVersion());
  out["gpus"] = Json::array();
  for (const Gpu& gpu : devices.gpus) {
    out["gpus"].push_back(ToJson(library, gpu));
  }
  out["unread_gpus"] = Json::array();
  for (const UnreadGpu& gpu : devices.unread) {
    out["unread_gpus"].push_back(
        {{"index", gpu.index}, {"code", CodeName(gpu.code)}});
  }
  return out;
}

void PrintCalls(const Library& library) {
  std::printf(
      "| call | of | code | name | times |\n| --- | --- | --- | --- | "
      "--- |\n");
  for (const CallCount& call : library.calls()) {
    std::printf("| %s | %s | %d | %s | %llu |\n", call.call.c_str(),
                SubjectName(call.subject), static_cast<int>(call.code),
                CodeName(call.code).c_str(),
                static_cast<unsigned long long>(call.count));
  }
}

absl::StatusOr<Flags> ParseFlags(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--calls") {
      flags.prints_calls = true;
    } else if (flag == "--help") {
      flags.prints_help = true;
    } else if (flag == "--library" && i + 1 < argc) {
      flags.library = argv[++i];
    } else {
      return absl::InvalidArgumentError(
          "expected --calls, --library FILE or --help, got '" + flag + "'");
    }
  }
  return flags;
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "ferry-nvml: %s\n",
               std::string(status.message()).c_str());
  return 1;
}

int Run(int argc, char** argv) {
  const absl::StatusOr<Flags> flags = ParseFlags(argc, argv);
  if (!flags.ok()) {
    return Fail(flags.status());
  }
  if (flags->prints_help) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  const auto library = Library::Open(flags->library);
  if (!library.ok()) {
    return Fail(library.status());
  }
  const absl::StatusOr<Devices> devices = ListDevices(**library);
  // The table is asked for most where something is wrong.
  const Json seen = devices.ok() ? ToJson(**library, *devices) : Json::object();
  if (flags->prints_calls) {
    PrintCalls(**library);
  } else if (devices.ok()) {
    std::printf(
        "%s\n",
        seen.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
  }
  return devices.ok() ? 0 : Fail(devices.status());
}

}  // namespace
}  // namespace ferry::nvml

int main(int argc, char** argv) { return ferry::nvml::Run(argc, argv); }

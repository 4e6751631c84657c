// Symbols looks up NVML's functions one by one: an older driver's library lacks
// some, and what is read through those is absent.
//
// Thread safety: constant after construction.
#ifndef FERRY_MODELS_NVML_SYMBOLS_H_
#define FERRY_MODELS_NVML_SYMBOLS_H_

#include <cstdint>
#include <functional>

#include "models/nvml/abi.h"

namespace ferry::nvml {

// Returns a symbol's address, or null where there is none.
using SymbolLookup = std::function<void*(const char* name)>;

template <typename Type>
struct Function {
  using Signature = Type;

  Function(const SymbolLookup& lookup, const char* symbol)
      : name(symbol), pointer(reinterpret_cast<Type*>(lookup(symbol))) {}

  const char* const name;
  Type* const pointer;  // null: the library does not have it
};

struct Symbols {
  const SymbolLookup lookup;

  Function<Code()> init{lookup, "nvmlInit_v2"};
  Function<Code()> shutdown{lookup, "nvmlShutdown"};
  Function<Code(char*, uint32_t)> driver_version{lookup,
                                                 "nvmlSystemGetDriverVersion"};
  Function<Code(char*, uint32_t)> nvml_version{lookup,
                                               "nvmlSystemGetNVMLVersion"};

  Function<Code(uint32_t*)> device_count{lookup, "nvmlDeviceGetCount_v2"};
  Function<Code(uint32_t, DeviceHandle*)> device_by_index{
      lookup, "nvmlDeviceGetHandleByIndex_v2"};
  Function<Code(const char*, DeviceHandle*)> device_by_uuid{
      lookup, "nvmlDeviceGetHandleByUUID"};
  Function<Code(DeviceHandle, char*, uint32_t)> uuid{lookup,
                                                     "nvmlDeviceGetUUID"};
  Function<Code(DeviceHandle, char*, uint32_t)> device_name{
      lookup, "nvmlDeviceGetName"};
  Function<Code(DeviceHandle, PciInfo*)> pci_info{lookup,
                                                  "nvmlDeviceGetPciInfo_v3"};

  // MIG
  Function<Code(DeviceHandle, uint32_t*, uint32_t*)> mig_mode{
      lookup, "nvmlDeviceGetMigMode"};
  Function<Code(DeviceHandle, uint32_t*)> max_mig_devices{
      lookup, "nvmlDeviceGetMaxMigDeviceCount"};
  Function<Code(DeviceHandle, uint32_t, DeviceHandle*)> mig_by_index{
      lookup, "nvmlDeviceGetMigDeviceHandleByIndex"};
  Function<Code(DeviceHandle, DeviceHandle*)> parent_of_mig{
      lookup, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle"};
  Function<Code(DeviceHandle, uint32_t*)> gpu_instance{
      lookup, "nvmlDeviceGetGpuInstanceId"};
  Function<Code(DeviceHandle, uint32_t*)> compute_instance{
      lookup, "nvmlDeviceGetComputeInstanceId"};
  Function<Code(DeviceHandle, DeviceAttributes*)> attributes{
      lookup, "nvmlDeviceGetAttributes_v2"};

  // What changes with time
  Function<Code(DeviceHandle, MemoryV2*)> memory_v2{
      lookup, "nvmlDeviceGetMemoryInfo_v2"};
  Function<Code(DeviceHandle, Memory*)> memory{lookup,
                                               "nvmlDeviceGetMemoryInfo"};
  Function<Code(DeviceHandle, uint32_t*)> power_mw{lookup,
                                                   "nvmlDeviceGetPowerUsage"};
  Function<Code(DeviceHandle, uint32_t*)> power_limit_mw{
      lookup, "nvmlDeviceGetEnforcedPowerLimit"};
  Function<Code(DeviceHandle, uint64_t*)> energy_mj{
      lookup, "nvmlDeviceGetTotalEnergyConsumption"};
  Function<Code(DeviceHandle, Temperature*)> temperature{
      lookup, "nvmlDeviceGetTemperatureV"};
  // Deprecated in 13.0; for drivers that lack the one above.
  Function<Code(DeviceHandle, TemperatureSensor, uint32_t*)> old_temperature{
      lookup, "nvmlDeviceGetTemperature"};
  Function<Code(DeviceHandle, ClockType, uint32_t*)> clock_mhz{
      lookup, "nvmlDeviceGetClockInfo"};
  Function<Code(DeviceHandle, Utilization*)> utilization{
      lookup, "nvmlDeviceGetUtilizationRates"};

  // GPM
  Function<Code(DeviceHandle, GpmSupport*)> gpm_support{
      lookup, "nvmlGpmQueryDeviceSupport"};
  Function<Code(GpmSampleHandle*)> gpm_sample_alloc{lookup,
                                                    "nvmlGpmSampleAlloc"};
  Function<Code(GpmSampleHandle)> gpm_sample_free{lookup, "nvmlGpmSampleFree"};
  Function<Code(DeviceHandle, GpmSampleHandle)> gpm_sample{lookup,
                                                           "nvmlGpmSampleGet"};
  Function<Code(DeviceHandle, uint32_t, GpmSampleHandle)> gpm_mig_sample{
      lookup, "nvmlGpmMigSampleGet"};
  Function<Code(GpmMetricsGet*)> gpm_metrics{lookup, "nvmlGpmMetricsGet"};
};

}  // namespace ferry::nvml

#endif  // FERRY_MODELS_NVML_SYMBOLS_H_

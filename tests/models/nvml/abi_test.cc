// Tests models/nvml/abi.h and symbols.h against NVIDIA's own nvml.h, which
// comes with the wheel nvidia-nvml-dev: what differs does not compile.
#include "models/nvml/abi.h"

#include <gtest/gtest.h>
#include <nvml.h>

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "models/nvml/symbols.h"

namespace ferry::nvml {
namespace {

// Whether two types are passed alike: as large, and both pointers or both not.
// What is pointed to is as large, too, where both sides know it.
template <typename Type, typename = void>
struct SizeOf : std::integral_constant<size_t, 0> {};
template <typename Type>
struct SizeOf<Type, std::void_t<decltype(sizeof(Type))>>
    : std::integral_constant<size_t, sizeof(Type)> {};

template <typename Ours, typename Theirs>
constexpr bool IsPassedAlike() {
  if constexpr (std::is_same_v<Ours, GpmMetricsGet*>) {
    return sizeof(GpmMetricsGet) >= sizeof(nvmlGpmMetricsGet_t);
  } else if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using OurTarget = std::remove_pointer_t<Ours>;
    using TheirTarget = std::remove_pointer_t<Theirs>;
    return SizeOf<OurTarget>::value == SizeOf<TheirTarget>::value &&
           std::is_const_v<OurTarget> == std::is_const_v<TheirTarget>;
  } else {
    return sizeof(Ours) == sizeof(Theirs) &&
           std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>;
  }
}

template <typename Ours, typename Theirs>
struct AreCalledAlike : std::false_type {};
template <typename... Ours, typename... Theirs>
requires(sizeof...(Ours) ==
         sizeof...(Theirs)) struct AreCalledAlike<Code(Ours...),
                                                  nvmlReturn_t(Theirs...)>
    : std::bool_constant<(IsPassedAlike<Ours, Theirs>() && ...)> {
};

template <auto Member, typename Theirs>
constexpr bool Fits(Theirs*) {
  using Found =
      std::remove_reference_t<decltype(std::declval<Symbols>().*Member)>;
  return AreCalledAlike<typename Found::Signature, Theirs>::value;
}

static_assert(Fits<&Symbols::init>(&nvmlInit_v2));
static_assert(Fits<&Symbols::shutdown>(&nvmlShutdown));
static_assert(Fits<&Symbols::driver_version>(&nvmlSystemGetDriverVersion));
static_assert(Fits<&Symbols::nvml_version>(&nvmlSystemGetNVMLVersion));
static_assert(Fits<&Symbols::device_count>(&nvmlDeviceGetCount_v2));
static_assert(Fits<&Symbols::device_by_index>(&nvmlDeviceGetHandleByIndex_v2));
static_assert(Fits<&Symbols::device_by_uuid>(&nvmlDeviceGetHandleByUUID));
static_assert(Fits<&Symbols::uuid>(&nvmlDeviceGetUUID));
static_assert(Fits<&Symbols::device_name>(&nvmlDeviceGetName));
static_assert(Fits<&Symbols::pci_info>(&nvmlDeviceGetPciInfo_v3));
static_assert(Fits<&Symbols::mig_mode>(&nvmlDeviceGetMigMode));
static_assert(Fits<&Symbols::max_mig_devices>(&nvmlDeviceGetMaxMigDeviceCount));
static_assert(
    Fits<&Symbols::mig_by_index>(&nvmlDeviceGetMigDeviceHandleByIndex));
static_assert(Fits<&Symbols::parent_of_mig>(
    &nvmlDeviceGetDeviceHandleFromMigDeviceHandle));
static_assert(Fits<&Symbols::gpu_instance>(&nvmlDeviceGetGpuInstanceId));
static_assert(
    Fits<&Symbols::compute_instance>(&nvmlDeviceGetComputeInstanceId));
static_assert(Fits<&Symbols::attributes>(&nvmlDeviceGetAttributes_v2));
static_assert(Fits<&Symbols::memory_v2>(&nvmlDeviceGetMemoryInfo_v2));
static_assert(Fits<&Symbols::memory>(&nvmlDeviceGetMemoryInfo));
static_assert(Fits<&Symbols::power_mw>(&nvmlDeviceGetPowerUsage));
static_assert(Fits<&Symbols::power_limit_mw>(&nvmlDeviceGetEnforcedPowerLimit));
static_assert(Fits<&Symbols::energy_mj>(&nvmlDeviceGetTotalEnergyConsumption));
static_assert(Fits<&Symbols::temperature>(&nvmlDeviceGetTemperatureV));
static_assert(Fits<&Symbols::old_temperature>(&nvmlDeviceGetTemperature));
static_assert(Fits<&Symbols::clock_mhz>(&nvmlDeviceGetClockInfo));
static_assert(Fits<&Symbols::utilization>(&nvmlDeviceGetUtilizationRates));
static_assert(Fits<&Symbols::gpm_support>(&nvmlGpmQueryDeviceSupport));
static_assert(Fits<&Symbols::gpm_sample_alloc>(&nvmlGpmSampleAlloc));
static_assert(Fits<&Symbols::gpm_sample_free>(&nvmlGpmSampleFree));
static_assert(Fits<&Symbols::gpm_sample>(&nvmlGpmSampleGet));
static_assert(Fits<&Symbols::gpm_mig_sample>(&nvmlGpmMigSampleGet));
static_assert(Fits<&Symbols::gpm_metrics>(&nvmlGpmMetricsGet));

// A signature that differs is seen.
static_assert(!Fits<&Symbols::clock_mhz>(&nvmlDeviceGetUUID));
static_assert(!Fits<&Symbols::memory>(&nvmlDeviceGetMemoryInfo_v2));
static_assert(!Fits<&Symbols::shutdown>(&nvmlDeviceGetCount_v2));

static_assert(sizeof(Code) == sizeof(nvmlReturn_t));
static_assert(static_cast<int>(Code::kSuccess) == NVML_SUCCESS);
static_assert(static_cast<int>(Code::kUninitialized) ==
              NVML_ERROR_UNINITIALIZED);
static_assert(static_cast<int>(Code::kInvalidArgument) ==
              NVML_ERROR_INVALID_ARGUMENT);
static_assert(static_cast<int>(Code::kNotSupported) ==
              NVML_ERROR_NOT_SUPPORTED);
static_assert(static_cast<int>(Code::kNoPermission) ==
              NVML_ERROR_NO_PERMISSION);
static_assert(static_cast<int>(Code::kAlreadyInitialized) ==
              NVML_ERROR_ALREADY_INITIALIZED);
static_assert(static_cast<int>(Code::kNotFound) == NVML_ERROR_NOT_FOUND);
static_assert(static_cast<int>(Code::kInsufficientSize) ==
              NVML_ERROR_INSUFFICIENT_SIZE);
static_assert(static_cast<int>(Code::kInsufficientPower) ==
              NVML_ERROR_INSUFFICIENT_POWER);
static_assert(static_cast<int>(Code::kDriverNotLoaded) ==
              NVML_ERROR_DRIVER_NOT_LOADED);
static_assert(static_cast<int>(Code::kTimeout) == NVML_ERROR_TIMEOUT);
static_assert(static_cast<int>(Code::kIrqIssue) == NVML_ERROR_IRQ_ISSUE);
static_assert(static_cast<int>(Code::kLibraryNotFound) ==
              NVML_ERROR_LIBRARY_NOT_FOUND);
static_assert(static_cast<int>(Code::kFunctionNotFound) ==
              NVML_ERROR_FUNCTION_NOT_FOUND);
static_assert(static_cast<int>(Code::kCorruptedInforom) ==
              NVML_ERROR_CORRUPTED_INFOROM);
static_assert(static_cast<int>(Code::kGpuIsLost) == NVML_ERROR_GPU_IS_LOST);
static_assert(static_cast<int>(Code::kResetRequired) ==
              NVML_ERROR_RESET_REQUIRED);
static_assert(static_cast<int>(Code::kOperatingSystem) ==
              NVML_ERROR_OPERATING_SYSTEM);
static_assert(static_cast<int>(Code::kLibRmVersionMismatch) ==
              NVML_ERROR_LIB_RM_VERSION_MISMATCH);
static_assert(static_cast<int>(Code::kInUse) == NVML_ERROR_IN_USE);
static_assert(static_cast<int>(Code::kMemory) == NVML_ERROR_MEMORY);
static_assert(static_cast<int>(Code::kNoData) == NVML_ERROR_NO_DATA);
static_assert(static_cast<int>(Code::kVgpuEccNotSupported) ==
              NVML_ERROR_VGPU_ECC_NOT_SUPPORTED);
static_assert(static_cast<int>(Code::kInsufficientResources) ==
              NVML_ERROR_INSUFFICIENT_RESOURCES);
static_assert(static_cast<int>(Code::kFreqNotSupported) ==
              NVML_ERROR_FREQ_NOT_SUPPORTED);
static_assert(static_cast<int>(Code::kArgumentVersionMismatch) ==
              NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
static_assert(static_cast<int>(Code::kDeprecated) == NVML_ERROR_DEPRECATED);
static_assert(static_cast<int>(Code::kNotReady) == NVML_ERROR_NOT_READY);
static_assert(static_cast<int>(Code::kGpuNotFound) == NVML_ERROR_GPU_NOT_FOUND);
static_assert(static_cast<int>(Code::kInvalidState) ==
              NVML_ERROR_INVALID_STATE);
static_assert(static_cast<int>(Code::kResetTypeNotSupported) ==
              NVML_ERROR_RESET_TYPE_NOT_SUPPORTED);
static_assert(static_cast<int>(Code::kUnknown) == NVML_ERROR_UNKNOWN);
static_assert(static_cast<int>(GpmMetricId::kGraphicsPercent) ==
              NVML_GPM_METRIC_GRAPHICS_UTIL);
static_assert(static_cast<int>(GpmMetricId::kSmPercent) ==
              NVML_GPM_METRIC_SM_UTIL);
static_assert(static_cast<int>(GpmMetricId::kSmOccupancyPercent) ==
              NVML_GPM_METRIC_SM_OCCUPANCY);
static_assert(static_cast<int>(GpmMetricId::kAnyTensorPercent) ==
              NVML_GPM_METRIC_ANY_TENSOR_UTIL);
static_assert(static_cast<int>(GpmMetricId::kHmmaTensorPercent) ==
              NVML_GPM_METRIC_HMMA_TENSOR_UTIL);
static_assert(static_cast<int>(GpmMetricId::kDramBandwidthPercent) ==
              NVML_GPM_METRIC_DRAM_BW_UTIL);
static_assert(static_cast<int>(GpmMetricId::kPcieSentMibPerSecond) ==
              NVML_GPM_METRIC_PCIE_TX_PER_SEC);
static_assert(static_cast<int>(GpmMetricId::kPcieReceivedMibPerSecond) ==
              NVML_GPM_METRIC_PCIE_RX_PER_SEC);
static_assert(static_cast<int>(ClockType::kGraphics) == NVML_CLOCK_GRAPHICS);
static_assert(static_cast<int>(ClockType::kSm) == NVML_CLOCK_SM);
static_assert(static_cast<int>(ClockType::kMemory) == NVML_CLOCK_MEM);
static_assert(static_cast<int>(TemperatureSensor::kGpu) ==
              NVML_TEMPERATURE_GPU);
static_assert(kMigDisabled == NVML_DEVICE_MIG_DISABLE);
static_assert(kMigEnabled == NVML_DEVICE_MIG_ENABLE);
static_assert(kUuidSize == NVML_DEVICE_UUID_V2_BUFFER_SIZE);
static_assert(kNameSize == NVML_DEVICE_NAME_V2_BUFFER_SIZE);
static_assert(kVersionSize == NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE);
static_assert(kVersionSize == NVML_SYSTEM_NVML_VERSION_BUFFER_SIZE);
static_assert(kBusIdSize == NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE);
static_assert(kLegacyBusIdSize == NVML_DEVICE_PCI_BUS_ID_BUFFER_V2_SIZE);
static_assert(kMaxGpmMetrics >= NVML_GPM_METRIC_MAX);
static_assert(kGpmMetricsGetVersion == NVML_GPM_METRICS_GET_VERSION);
static_assert(kGpmSupportVersion == NVML_GPM_SUPPORT_VERSION);

static_assert(sizeof(Memory) == sizeof(nvmlMemory_t));
static_assert(offsetof(Memory, total_bytes) == offsetof(nvmlMemory_t, total));
static_assert(sizeof(Memory::total_bytes) == sizeof(nvmlMemory_t::total));
static_assert(offsetof(Memory, free_bytes) == offsetof(nvmlMemory_t, free));
static_assert(sizeof(Memory::free_bytes) == sizeof(nvmlMemory_t::free));
static_assert(offsetof(Memory, used_bytes) == offsetof(nvmlMemory_t, used));
static_assert(sizeof(Memory::used_bytes) == sizeof(nvmlMemory_t::used));

static_assert(sizeof(MemoryV2) == sizeof(nvmlMemory_v2_t));
static_assert(offsetof(MemoryV2, version) ==
              offsetof(nvmlMemory_v2_t, version));
static_assert(sizeof(MemoryV2::version) == sizeof(nvmlMemory_v2_t::version));
static_assert(offsetof(MemoryV2, total_bytes) ==
              offsetof(nvmlMemory_v2_t, total));
static_assert(sizeof(MemoryV2::total_bytes) == sizeof(nvmlMemory_v2_t::total));
static_assert(offsetof(MemoryV2, reserved_bytes) ==
              offsetof(nvmlMemory_v2_t, reserved));
static_assert(sizeof(MemoryV2::reserved_bytes) ==
              sizeof(nvmlMemory_v2_t::reserved));
static_assert(offsetof(MemoryV2, free_bytes) ==
              offsetof(nvmlMemory_v2_t, free));
static_assert(sizeof(MemoryV2::free_bytes) == sizeof(nvmlMemory_v2_t::free));
static_assert(offsetof(MemoryV2, used_bytes) ==
              offsetof(nvmlMemory_v2_t, used));
static_assert(sizeof(MemoryV2::used_bytes) == sizeof(nvmlMemory_v2_t::used));

static_assert(sizeof(PciInfo) == sizeof(nvmlPciInfo_t));
static_assert(offsetof(PciInfo, legacy_bus_id) ==
              offsetof(nvmlPciInfo_t, busIdLegacy));
static_assert(sizeof(PciInfo::legacy_bus_id) ==
              sizeof(nvmlPciInfo_t::busIdLegacy));
static_assert(offsetof(PciInfo, domain) == offsetof(nvmlPciInfo_t, domain));
static_assert(sizeof(PciInfo::domain) == sizeof(nvmlPciInfo_t::domain));
static_assert(offsetof(PciInfo, bus) == offsetof(nvmlPciInfo_t, bus));
static_assert(sizeof(PciInfo::bus) == sizeof(nvmlPciInfo_t::bus));
static_assert(offsetof(PciInfo, device) == offsetof(nvmlPciInfo_t, device));
static_assert(sizeof(PciInfo::device) == sizeof(nvmlPciInfo_t::device));
static_assert(offsetof(PciInfo, device_id) ==
              offsetof(nvmlPciInfo_t, pciDeviceId));
static_assert(sizeof(PciInfo::device_id) == sizeof(nvmlPciInfo_t::pciDeviceId));
static_assert(offsetof(PciInfo, subsystem_id) ==
              offsetof(nvmlPciInfo_t, pciSubSystemId));
static_assert(sizeof(PciInfo::subsystem_id) ==
              sizeof(nvmlPciInfo_t::pciSubSystemId));
static_assert(offsetof(PciInfo, bus_id) == offsetof(nvmlPciInfo_t, busId));
static_assert(sizeof(PciInfo::bus_id) == sizeof(nvmlPciInfo_t::busId));

static_assert(sizeof(DeviceAttributes) == sizeof(nvmlDeviceAttributes_t));
static_assert(offsetof(DeviceAttributes, multiprocessor_count) ==
              offsetof(nvmlDeviceAttributes_t, multiprocessorCount));
static_assert(sizeof(DeviceAttributes::multiprocessor_count) ==
              sizeof(nvmlDeviceAttributes_t::multiprocessorCount));
static_assert(offsetof(DeviceAttributes, copy_engine_count) ==
              offsetof(nvmlDeviceAttributes_t, sharedCopyEngineCount));
static_assert(sizeof(DeviceAttributes::copy_engine_count) ==
              sizeof(nvmlDeviceAttributes_t::sharedCopyEngineCount));
static_assert(offsetof(DeviceAttributes, decoder_count) ==
              offsetof(nvmlDeviceAttributes_t, sharedDecoderCount));
static_assert(sizeof(DeviceAttributes::decoder_count) ==
              sizeof(nvmlDeviceAttributes_t::sharedDecoderCount));
static_assert(offsetof(DeviceAttributes, encoder_count) ==
              offsetof(nvmlDeviceAttributes_t, sharedEncoderCount));
static_assert(sizeof(DeviceAttributes::encoder_count) ==
              sizeof(nvmlDeviceAttributes_t::sharedEncoderCount));
static_assert(offsetof(DeviceAttributes, jpeg_count) ==
              offsetof(nvmlDeviceAttributes_t, sharedJpegCount));
static_assert(sizeof(DeviceAttributes::jpeg_count) ==
              sizeof(nvmlDeviceAttributes_t::sharedJpegCount));
static_assert(offsetof(DeviceAttributes, ofa_count) ==
              offsetof(nvmlDeviceAttributes_t, sharedOfaCount));
static_assert(sizeof(DeviceAttributes::ofa_count) ==
              sizeof(nvmlDeviceAttributes_t::sharedOfaCount));
static_assert(offsetof(DeviceAttributes, gpu_instance_slice_count) ==
              offsetof(nvmlDeviceAttributes_t, gpuInstanceSliceCount));
static_assert(sizeof(DeviceAttributes::gpu_instance_slice_count) ==
              sizeof(nvmlDeviceAttributes_t::gpuInstanceSliceCount));
static_assert(offsetof(DeviceAttributes, compute_instance_slice_count) ==
              offsetof(nvmlDeviceAttributes_t, computeInstanceSliceCount));
static_assert(sizeof(DeviceAttributes::compute_instance_slice_count) ==
              sizeof(nvmlDeviceAttributes_t::computeInstanceSliceCount));
static_assert(offsetof(DeviceAttributes, memory_mib) ==
              offsetof(nvmlDeviceAttributes_t, memorySizeMB));
static_assert(sizeof(DeviceAttributes::memory_mib) ==
              sizeof(nvmlDeviceAttributes_t::memorySizeMB));

static_assert(sizeof(Utilization) == sizeof(nvmlUtilization_t));
static_assert(offsetof(Utilization, gpu_percent) ==
              offsetof(nvmlUtilization_t, gpu));
static_assert(sizeof(Utilization::gpu_percent) ==
              sizeof(nvmlUtilization_t::gpu));
static_assert(offsetof(Utilization, memory_percent) ==
              offsetof(nvmlUtilization_t, memory));
static_assert(sizeof(Utilization::memory_percent) ==
              sizeof(nvmlUtilization_t::memory));

static_assert(sizeof(Temperature) == sizeof(nvmlTemperature_t));
static_assert(offsetof(Temperature, version) ==
              offsetof(nvmlTemperature_t, version));
static_assert(sizeof(Temperature::version) ==
              sizeof(nvmlTemperature_t::version));
static_assert(offsetof(Temperature, sensor) ==
              offsetof(nvmlTemperature_t, sensorType));
static_assert(sizeof(Temperature::sensor) ==
              sizeof(nvmlTemperature_t::sensorType));
static_assert(offsetof(Temperature, celsius) ==
              offsetof(nvmlTemperature_t, temperature));
static_assert(sizeof(Temperature::celsius) ==
              sizeof(nvmlTemperature_t::temperature));

static_assert(sizeof(GpmMetric) == sizeof(nvmlGpmMetric_t));
static_assert(offsetof(GpmMetric, id) == offsetof(nvmlGpmMetric_t, metricId));
static_assert(sizeof(GpmMetric::id) == sizeof(nvmlGpmMetric_t::metricId));
static_assert(offsetof(GpmMetric, code) ==
              offsetof(nvmlGpmMetric_t, nvmlReturn));
static_assert(sizeof(GpmMetric::code) == sizeof(nvmlGpmMetric_t::nvmlReturn));
static_assert(offsetof(GpmMetric, value) == offsetof(nvmlGpmMetric_t, value));
static_assert(sizeof(GpmMetric::value) == sizeof(nvmlGpmMetric_t::value));
static_assert(offsetof(GpmMetric, short_name) ==
              offsetof(nvmlGpmMetric_t, metricInfo));

static_assert(offsetof(GpmMetricsGet, version) ==
              offsetof(nvmlGpmMetricsGet_t, version));
static_assert(sizeof(GpmMetricsGet::version) ==
              sizeof(nvmlGpmMetricsGet_t::version));
static_assert(offsetof(GpmMetricsGet, count) ==
              offsetof(nvmlGpmMetricsGet_t, numMetrics));
static_assert(sizeof(GpmMetricsGet::count) ==
              sizeof(nvmlGpmMetricsGet_t::numMetrics));
static_assert(offsetof(GpmMetricsGet, older) ==
              offsetof(nvmlGpmMetricsGet_t, sample1));
static_assert(sizeof(GpmMetricsGet::older) ==
              sizeof(nvmlGpmMetricsGet_t::sample1));
static_assert(offsetof(GpmMetricsGet, newer) ==
              offsetof(nvmlGpmMetricsGet_t, sample2));
static_assert(sizeof(GpmMetricsGet::newer) ==
              sizeof(nvmlGpmMetricsGet_t::sample2));
static_assert(offsetof(GpmMetricsGet, metrics) ==
              offsetof(nvmlGpmMetricsGet_t, metrics));

static_assert(sizeof(GpmSupport) == sizeof(nvmlGpmSupport_t));
static_assert(offsetof(GpmSupport, version) ==
              offsetof(nvmlGpmSupport_t, version));
static_assert(sizeof(GpmSupport::version) == sizeof(nvmlGpmSupport_t::version));
static_assert(offsetof(GpmSupport, is_supported) ==
              offsetof(nvmlGpmSupport_t, isSupportedDevice));
static_assert(sizeof(GpmSupport::is_supported) ==
              sizeof(nvmlGpmSupport_t::isSupportedDevice));

// What is left can only be seen at run time: macros that cast in the old style.
TEST(AbiTest, VersionsOfStructsAreThoseOfNvml) {
  EXPECT_EQ(StructVersion(sizeof(MemoryV2), 2), nvmlMemory_v2);
  EXPECT_EQ(StructVersion(sizeof(Temperature), 1), nvmlTemperature_v1);
}

}  // namespace
}  // namespace ferry::nvml

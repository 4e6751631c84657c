// Declares the part of NVML's binary interface that Ferry uses: codes, structs
// and ids, in words of our own. Neither CUDA nor nvml.h is needed to build with
// it.
//
// Facts are from nvml.h of the wheel nvidia-nvml-dev, 13.0.87;
// tests/models/nvml/abi_test.cc holds sizes, offsets, values and signatures
// against that header in every run of the tests.
//
// Thread safety: plain values.
// Invariants:
// 1. Each struct has the size and the offsets of NVML's. Only GpmMetricsGet is
//    larger: NVML's array grew from one header to the next under one version
//    number, and the library touches only the first `count` of it.
// 2. Code holds any number that the library returns, known here or not.
#ifndef FERRY_MODELS_NVML_ABI_H_
#define FERRY_MODELS_NVML_ABI_H_

#include <cstddef>
#include <cstdint>

namespace ferry::nvml {

// What each call returns.
enum class Code : int32_t {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kAlreadyInitialized = 5,
  kNotFound = 6,
  kInsufficientSize = 7,
  kInsufficientPower = 8,
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kIrqIssue = 11,
  kLibraryNotFound = 12,
  kFunctionNotFound = 13,
  kCorruptedInforom = 14,
  kGpuIsLost = 15,
  kResetRequired = 16,
  kOperatingSystem = 17,
  kLibRmVersionMismatch = 18,
  kInUse = 19,
  kMemory = 20,
  kNoData = 21,
  kVgpuEccNotSupported = 22,
  kInsufficientResources = 23,
  kFreqNotSupported = 24,
  kArgumentVersionMismatch = 25,
  kDeprecated = 26,
  kNotReady = 27,
  kGpuNotFound = 28,
  kInvalidState = 29,
  kResetTypeNotSupported = 30,
  kUnknown = 999,
};

// A GPU or a MIG device; valid until shutdown. NVML owns what it points to.
struct OpaqueDevice;
using DeviceHandle = OpaqueDevice*;
struct OpaqueGpmSample;
using GpmSampleHandle = OpaqueGpmSample*;

enum class ClockType : int32_t { kGraphics = 0, kSm = 1, kMemory = 2 };
enum class TemperatureSensor : int32_t { kGpu = 0 };

inline constexpr uint32_t kMigDisabled = 0;
inline constexpr uint32_t kMigEnabled = 1;

// Bytes of texts, with the 0 at the end.
inline constexpr uint32_t kUuidSize = 96;
inline constexpr uint32_t kNameSize = 96;
inline constexpr uint32_t kVersionSize = 80;
inline constexpr size_t kLegacyBusIdSize = 16;
inline constexpr size_t kBusIdSize = 32;

// What the field `version` of newer structs holds.
constexpr uint32_t StructVersion(size_t bytes, uint32_t version) {
  return static_cast<uint32_t>(bytes) | version << 24;
}

struct Memory {
  uint64_t total_bytes;
  uint64_t free_bytes;
  uint64_t used_bytes;  // with what is reserved
};

struct MemoryV2 {
  uint32_t version;
  uint64_t total_bytes;
  uint64_t reserved_bytes;
  uint64_t free_bytes;
  uint64_t used_bytes;  // without what is reserved
};

struct PciInfo {
  char legacy_bus_id[kLegacyBusIdSize];
  uint32_t domain;
  uint32_t bus;
  uint32_t device;
  uint32_t device_id;
  uint32_t subsystem_id;
  char bus_id[kBusIdSize];  // 00000000:1B:00.0
};

// What a MIG device has.
struct DeviceAttributes {
  uint32_t multiprocessor_count;
  uint32_t copy_engine_count;
  uint32_t decoder_count;
  uint32_t encoder_count;
  uint32_t jpeg_count;
  uint32_t ofa_count;
  uint32_t gpu_instance_slice_count;
  uint32_t compute_instance_slice_count;
  uint64_t memory_mib;
};

struct Utilization {
  uint32_t gpu_percent;     // of the time in which a kernel ran
  uint32_t memory_percent;  // of the time in which memory was accessed
};

struct Temperature {
  uint32_t version;
  TemperatureSensor sensor;
  int32_t celsius;
};

// Metrics of GPM, NVML's counters on Hopper and newer.
enum class GpmMetricId : uint32_t {
  kGraphicsPercent = 1,
  kSmPercent = 2,
  kSmOccupancyPercent = 3,
  kAnyTensorPercent = 5,
  kHmmaTensorPercent = 7,
  kDramBandwidthPercent = 10,
  kPcieSentMibPerSecond = 20,
  kPcieReceivedMibPerSecond = 21,
};

struct GpmMetric {
  GpmMetricId id;
  Code code;  // where this is no success, `value` says nothing
  double value;
  char* short_name;
  char* long_name;
  char* unit;
};

// 210 in nvml.h 12.9 and 13.0, 477 in 13.5.
inline constexpr size_t kMaxGpmMetrics = 1024;
inline constexpr uint32_t kGpmMetricsGetVersion = 1;
inline constexpr uint32_t kGpmSupportVersion = 1;

struct GpmMetricsGet {
  uint32_t version;
  uint32_t count;
  GpmSampleHandle older;
  GpmSampleHandle newer;
  GpmMetric metrics[kMaxGpmMetrics];
};

struct GpmSupport {
  uint32_t version;
  uint32_t is_supported;
};

}  // namespace ferry::nvml

#endif  // FERRY_MODELS_NVML_ABI_H_

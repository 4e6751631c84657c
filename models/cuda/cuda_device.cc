// Implements CudaDevice: starts CUDA, and asks whether it still works.
#include "models/cuda/cuda_device.h"

#include <ATen/Context.h>
#include <ATen/DynamicLibrary.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/mutex.h"
#include "models/cuda/captures.h"
#include "models/cuda/cuda_streams.h"
#include "models/cuda/pinned_memory.h"
#include "tensor/freeing_thread.h"

namespace ferry {
namespace {

std::string UuidText(const cudaUUID_t& uuid) {
  std::string text;
  for (size_t i = 0; i < sizeof(uuid.bytes); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) {
      text += '-';
    }
    absl::StrAppendFormat(&text, "%02x",
                          static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

std::string VersionText(int version) {  // 13000: 13.0
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

template <typename Function>
Function DriverFunction(const char* name, int version) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = {};
  C10_CUDA_CHECK(cudaGetDriverEntryPointByVersion(
      name, &found, static_cast<unsigned int>(version), cudaEnableDefault,
      &result));
  TORCH_CHECK(result == cudaDriverEntryPointSuccess, "the driver has no ", name,
              " of CUDA ", VersionText(version));
  return reinterpret_cast<Function>(found);
}

// By the second version of cuDeviceGetUuid, which of a MIG device tells its own
// UUID. The first, and with it cudaDeviceProp, may tell that of its GPU (CUDA
// Driver API, 6.5 Device Management).
cudaUUID_t UuidOf(int index) {
  constexpr int kFirst = 2000;
  constexpr int kSecond = 11040;
  using Get = int (*)(int* device, int index);
  using GetUuid = int (*)(cudaUUID_t * uuid, int device);
  int device = 0;
  int error = DriverFunction<Get>("cuDeviceGet", kFirst)(&device, index);
  TORCH_CHECK(error == 0, "cuDeviceGet: CUDA error ", error);
  cudaUUID_t uuid = {};
  error = DriverFunction<GetUuid>("cuDeviceGetUuid", kSecond)(&uuid, device);
  TORCH_CHECK(error == 0, "cuDeviceGetUuid: CUDA error ", error);
  return uuid;
}

// Set by LibTorch's allocator, on the thread that has asked it.
thread_local bool is_out_of_memory = false;

// Returns nothing where the device cannot be asked, or others allocate each
// time between the two questions.
std::optional<MemoryUse> AskForMemory() {
  constexpr int kTries = 10;
  const auto reserved = [] {
    const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(0);
    return static_cast<uint64_t>(
        stats
            .reserved_bytes[static_cast<size_t>(
                c10::CachingAllocator::StatType::AGGREGATE)]
            .current);
  };
  for (int i = 0; i < kTries; ++i) {
    const uint64_t before = reserved();
    size_t free = 0;
    size_t total = 0;
    if (cudaMemGetInfo(&free, &total) != cudaSuccess) {
      cudaGetLastError();
      return std::nullopt;
    }
    if (reserved() == before) {
      return MemoryUse{.total = total, .free = free, .reserved = before};
    }
  }
  return std::nullopt;
}

absl::Status CannotStart(const std::string& why) {
  return absl::FailedPreconditionError(
      absl::StrCat("CUDA cannot start: ", why));
}

}  // namespace

absl::StatusOr<std::unique_ptr<CudaDevice>> CudaDevice::Open(
    double memory_share) {
  int count = 0;
  int driver = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0 &&
      driver / 1000 < CUDART_VERSION / 1000) {
    return CannotStart(absl::StrCat(
        "expected a driver of CUDA ", VersionText(CUDART_VERSION),
        " or newer (580 or newer, or the package cuda-compat-13-0), got one of "
        "CUDA ",
        VersionText(driver)));
  }
  if (const cudaError_t error = cudaGetDeviceCount(&count);
      error != cudaSuccess || count == 0) {
    return CannotStart(error == cudaSuccess ? "it shows no device"
                                            : cudaGetErrorString(error));
  }
  try {
    at::globalContext().lazyInitDevice(at::kCUDA);
    // With the libraries that it needs; else a batch would miss them.
    static const at::DynamicLibrary compiler("libcaffe2_nvrtc.so", nullptr,
                                             /*leak_handle=*/true);
    at::globalContext().setAllowTF32CuDNN(false);  // fp32 is what it says
    std::unique_ptr<CudaDevice> device(new CudaDevice(memory_share));
    const size_t all = device->memory_bytes_;
    device->LimitMemory(MemoryUse{.total = all, .free = all});
    c10::cuda::CUDACachingAllocator::attachOutOfMemoryObserver(
        [](int64_t, size_t, size_t, size_t) { is_out_of_memory = true; });
    return device;
  } catch (const c10::Error& error) {
    return CannotStart(error.what_without_backtrace());
  } catch (const std::exception& error) {
    return CannotStart(error.what());
  }
}

CudaDevice::CudaDevice(double memory_share)
    : host_memory_(
          std::make_shared<FreeingThread>(std::make_shared<PinnedMemory>())),
      streams_(std::make_shared<StreamPool>()),
      turns_(std::make_shared<ComputeTurns>()),
      memory_limit_(memory_share) {
  int count = 0;
  C10_CUDA_CHECK(cudaGetDeviceCount(&count));
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties = {};
    C10_CUDA_CHECK(cudaGetDeviceProperties(&properties, i));
    uuids_.push_back(UuidText(UuidOf(i)));
    if (i == 0) {
      architecture_ = absl::StrCat(properties.major, properties.minor);
      multiprocessors_ = properties.multiProcessorCount;
      memory_bytes_ = properties.totalGlobalMem;
      description_ = absl::StrCat(
          "name=", properties.name, " compute_capability=", properties.major,
          ".", properties.minor, " multiprocessors=", multiprocessors_,
          " memory_mib=", properties.totalGlobalMem >> 20);
    }
  }
  int driver = 0;
  int runtime = 0;
  C10_CUDA_CHECK(cudaDriverGetVersion(&driver));
  C10_CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
  absl::StrAppend(&description_, " driver=", VersionText(driver),
                  " runtime=", VersionText(runtime));
  C10_CUDA_CHECK(
      cudaStreamCreateWithFlags(&probe_stream_, cudaStreamNonBlocking));
  C10_CUDA_CHECK(cudaEventCreateWithFlags(&probe_, cudaEventDisableTiming));
}

CudaDevice::~CudaDevice() {
  C10_CUDA_CHECK_WARN(cudaEventDestroy(probe_));
  C10_CUDA_CHECK_WARN(cudaStreamDestroy(probe_stream_));
}

// Weights were made on the loader's current stream, which others do not wait
// for.
std::unique_ptr<DeviceStreams> CudaDevice::MakeStreams() {
  c10::cuda::getCurrentCUDAStream(0).synchronize();
  return std::make_unique<CudaStreams>(streams_, turns_);
}

// A lost device fails all that is put on a stream; one without memory may fail
// some of it.
bool CudaDevice::IsLost() {
  const auto is_loss = [](cudaError_t error) {
    return error != cudaSuccess && error != cudaErrorNotReady &&
           error != cudaErrorMemoryAllocation;
  };
  cudaGetLastError();  // forgets what was a refusal only
  const bool is_lost = Captures::Get().are_broken.load() ||
                       is_loss(cudaEventRecord(probe_, probe_stream_)) ||
                       is_loss(cudaEventQuery(probe_));
  cudaGetLastError();  // some drivers keep cudaErrorNotReady
  return is_lost;
}

bool CudaDevice::TakeOutOfMemory() {
  return std::exchange(is_out_of_memory, false);
}

// cuDNN's benchmark, in all threads, which read it unlocked. What it found
// stays with the thread: a model warms up on the one that runs its batches.
void CudaDevice::CountWarmUp(int more) {
  MutexLock lock(warm_up_mutex_);
  warm_ups_ += more;
  at::globalContext().setBenchmarkCuDNN(warm_ups_ > 0);
}

// LibTorch frees nothing while a graph is recorded, and says that it is a bug.
void CudaDevice::FreeKept() {
  {
    MutexLock lock(Captures::Get().mutex);
    c10::cuda::CUDACachingAllocator::emptyCache();
  }
  LimitMemory(/*unmeasured=*/std::nullopt);
}

// LibTorch's allocator reads the limit under its lock and sets it without: so
// it is set only where it has changed, which is seldom.
void CudaDevice::LimitMemory(const std::optional<MemoryUse>& unmeasured) {
  MutexLock lock(memory_mutex_);
  std::optional<MemoryUse> use = AskForMemory();
  if (!use.has_value()) {
    use = unmeasured;
  }
  if (!use.has_value() || memory_bytes_ == 0) {
    return;
  }
  memory_limit_.Learn(*use, [this](uint64_t bytes) {
    c10::cuda::CUDACachingAllocator::setMemoryFraction(
        std::min(1.0, static_cast<double>(bytes) /
                          static_cast<double>(memory_bytes_)),
        0);
  });
}

}  // namespace ferry

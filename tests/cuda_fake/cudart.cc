// This library is a libcudart.so.13 without a device: the functions that
// LibTorch and Ferry call, over FakeDevice, FakeMemory and FakeKernels. What
// they call besides is a stub that make_stubs.py writes.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/cuda_fake/fake_calls.h"
#include "tests/cuda_fake/fake_device.h"
#include "tests/cuda_fake/fake_kernels.h"
#include "tests/cuda_fake/fake_memory.h"
#include "tests/cuda_fake/fake_scenario.h"

namespace ferry::cuda_fake {
namespace {

FakeDevice& Device() { return FakeDevice::Get(); }
FakeMemory& Memory() { return FakeMemory::Get(); }
FakeStream* Of(cudaStream_t stream) { return Device().StreamOf(stream); }
FakeEvent& Of(cudaEvent_t event) {
  return *reinterpret_cast<FakeEvent*>(event);
}

// A call that is not to be made while a capture goes on.
cudaError_t UnsafeCall(const char* name,
                       const std::function<cudaError_t()>& body) {
  return Call(name, [&] {
    const cudaError_t error = Device().CheckUnsafe();
    return error == cudaSuccess ? body() : error;
  });
}

cudaError_t CopyBytes(void* to, const void* from, size_t bytes) {
  std::byte* const target = Memory().Reach(to, bytes);
  const std::byte* const source = Memory().Reach(from, bytes);
  if (target == nullptr || source == nullptr) {
    LogOnce("illegal address in a copy");
    return cudaErrorIllegalAddress;
  }
  std::memmove(target, source, bytes);
  return cudaSuccess;
}

cudaError_t SetBytes(void* to, int value, size_t bytes) {
  std::byte* const target = Memory().Reach(to, bytes);
  if (target == nullptr) {
    LogOnce("illegal address in a memset");
    return cudaErrorIllegalAddress;
  }
  std::memset(target, value, bytes);
  return cudaSuccess;
}

// Pageable memory is read before the call returns, and written then (CUDA
// Runtime API, "API synchronization behavior").
cudaError_t CopyAsync(void* to, const void* from, size_t bytes,
                      FakeStream* stream) {
  if (bytes == 0) {
    return cudaSuccess;
  }
  const bool is_recorded =
      Device().CaptureOf(stream, nullptr) != cudaStreamCaptureStatusNone;
  if (!is_recorded && Memory().KindOf(from) == FakeMemory::Kind::kPageable) {
    const auto* const begin = static_cast<const std::byte*>(from);
    auto staged =
        std::make_shared<std::vector<std::byte>>(begin, begin + bytes);
    return Device().Put(stream, [to, staged] {
      return CopyBytes(to, staged->data(), staged->size());
    });
  }
  if (!is_recorded && Memory().KindOf(to) == FakeMemory::Kind::kPageable) {
    return Device().DoNow(stream, [=] { return CopyBytes(to, from, bytes); });
  }
  return Device().Put(stream, [=] { return CopyBytes(to, from, bytes); });
}

// Waits for all that was put on the device, as CUDA does.
cudaError_t Free(const char* name, void* memory,
                 bool (FakeMemory::*free)(void*)) {
  return UnsafeCall(name, [&] {
    if (memory == nullptr) {
      return cudaSuccess;
    }
    const cudaError_t error = Device().SynchronizeAll();
    std::this_thread::sleep_for(
        std::chrono::milliseconds(FakeScenario::Get().slow_free_ms));
    if (error != cudaSuccess) {
      return error;
    }
    return (Memory().*free)(memory) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

// Notes which thread calls.
void TellThread(const char* call) {
  char name[16] = {};
  pthread_getname_np(pthread_self(), name, sizeof(name));
  LogOnce(std::string(call) + " on " + name);
}

void WaitWhileHeld() {
  const std::string& file = FakeScenario::Get().hold_free;
  while (!file.empty() && access(file.c_str(), F_OK) == 0) {
    std::ofstream(file + ".held");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// --- what the driver hands out -----------------------------------------------

constexpr int kDriverNotSupported = 801;

int NotSupported() { return kDriverNotSupported; }

void* DriverFunction(const char* name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  void* const found = driver == nullptr ? nullptr : dlsym(driver, name);
  if (found == nullptr) {
    LogOnce(std::string("driver has a stub alone: ") + name);
    return reinterpret_cast<void*>(&NotSupported);
  }
  return found;
}

// --- launches ----------------------------------------------------------------

struct Configuration {
  dim3 grid;
  dim3 block;
  size_t shared = 0;
  cudaStream_t stream = nullptr;
};

thread_local std::vector<Configuration> configurations;

std::map<const void*, void*>& Variables() {
  static auto* const variables = new std::map<const void*, void*>;
  return *variables;
}
std::map<const void*, size_t>& VariableSizes() {
  static auto* const sizes = new std::map<const void*, size_t>;
  return *sizes;
}

cudaError_t Launch(const char* name, const void* function, dim3 grid,
                   dim3 block, void** args, cudaStream_t stream) {
  return Call(name, [&] {
    return FakeKernels::Get().Launch(
        function, {.grid = grid, .block = block, .args = args}, Of(stream));
  });
}

}  // namespace
}  // namespace ferry::cuda_fake

using ferry::cuda_fake::Call;
using ferry::cuda_fake::Configuration;
using ferry::cuda_fake::configurations;
using ferry::cuda_fake::CopyAsync;
using ferry::cuda_fake::CopyBytes;
using ferry::cuda_fake::Device;
using ferry::cuda_fake::DriverFunction;
using ferry::cuda_fake::FakeDevice;
using ferry::cuda_fake::FakeEvent;
using ferry::cuda_fake::FakeGraph;
using ferry::cuda_fake::FakeKernels;
using ferry::cuda_fake::FakeMemory;
using ferry::cuda_fake::FakeScenario;
using ferry::cuda_fake::Free;
using ferry::cuda_fake::LastError;
using ferry::cuda_fake::Launch;
using ferry::cuda_fake::Memory;
using ferry::cuda_fake::Of;
using ferry::cuda_fake::SetBytes;
using ferry::cuda_fake::TellThread;
using ferry::cuda_fake::Told;
using ferry::cuda_fake::UnsafeCall;
using ferry::cuda_fake::Variables;
using ferry::cuda_fake::VariableSizes;
using ferry::cuda_fake::WaitWhileHeld;
using ferry::cuda_fake::Work;

extern "C" {

// For the fakes of libraries that compute.
cudaError_t FerryFakePut(cudaStream_t stream, const Work* work) {
  return Device().Put(Of(stream), *work);
}
std::byte* FerryFakeReach(const void* address, size_t bytes) {
  return Memory().Reach(address, bytes);
}

// --- the device --------------------------------------------------------------

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  if (FakeScenario::Get().driver / 1000 < CUDART_VERSION / 1000) {
    return Told(cudaErrorInsufficientDriver);
  }
  return Call("cudaGetDeviceCount", [&] {
    *count = 1;
    return cudaSuccess;
  });
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = FakeScenario::Get().driver;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  return Call("cudaSetDevice", [&] {
    return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
  });
}

// An H100's, as far as anything asks.
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return Call("cudaGetDeviceProperties", [&] {
    if (device != 0) {
      return cudaErrorInvalidDevice;
    }
    *properties = {};
    std::strncpy(properties->name, "Fake H100", sizeof(properties->name) - 1);
    properties->totalGlobalMem = Memory().total();
    properties->pciBusID = 0x1b;
    properties->sharedMemPerBlock = 48 << 10;
    properties->sharedMemPerBlockOptin = 227 << 10;
    properties->sharedMemPerMultiprocessor = 228 << 10;
    properties->regsPerBlock = 65536;
    properties->regsPerMultiprocessor = 65536;
    properties->warpSize = 32;
    properties->memPitch = 2147483647;
    properties->maxThreadsPerBlock = 1024;
    for (int i = 0; i < 3; ++i) {
      properties->maxThreadsDim[i] = i == 2 ? 64 : 1024;
      properties->maxGridSize[i] = i == 0 ? 2147483647 : 65535;
    }
    properties->totalConstMem = 65536;
    properties->major = 9;
    properties->minor = 0;
    properties->textureAlignment = 512;
    properties->multiProcessorCount = 132;
    properties->concurrentKernels = 1;
    properties->asyncEngineCount = 3;
    properties->unifiedAddressing = 1;
    properties->maxThreadsPerMultiProcessor = 2048;
    properties->maxBlocksPerMultiProcessor = 32;
    properties->memoryBusWidth = 5120;
    properties->l2CacheSize = 50 << 20;
    properties->managedMemory = 1;
    properties->streamPrioritiesSupported = 1;
    properties->cooperativeLaunch = 1;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute,
                                   int /*device*/) {
  static const std::map<cudaDeviceAttr, int> values = {
      {cudaDevAttrMaxThreadsPerBlock, 1024},
      {cudaDevAttrMultiProcessorCount, 132},
      {cudaDevAttrComputeCapabilityMajor, 9},
      {cudaDevAttrComputeCapabilityMinor, 0},
      {cudaDevAttrWarpSize, 32},
      {cudaDevAttrMaxSharedMemoryPerBlock, 48 << 10},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, 227 << 10},
      {cudaDevAttrMaxSharedMemoryPerMultiprocessor, 228 << 10},
      {cudaDevAttrMaxThreadsPerMultiProcessor, 2048},
      {cudaDevAttrMaxGridDimX, 2147483647},
      {cudaDevAttrL2CacheSize, 50 << 20}};
  return Call("cudaDeviceGetAttribute", [&] {
    const auto found = values.find(attribute);
    *value = found == values.end() ? 0 : found->second;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int /*device*/) {
  std::strncpy(id, "0000:1B:00.0", static_cast<size_t>(length));
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  return UnsafeCall("cudaDeviceSynchronize",
                    [] { return Device().SynchronizeAll(); });
}

cudaError_t cudaGetDriverEntryPointByVersion(
    const char* symbol, void** function, unsigned int version,
    unsigned long long /*flags*/, cudaDriverEntryPointQueryResult* result) {
  const bool is_there = static_cast<int>(version) <= FakeScenario::Get().driver;
  *function = is_there ? DriverFunction(symbol) : nullptr;
  if (result != nullptr) {
    *result = is_there ? cudaDriverEntryPointSuccess
                       : cudaDriverEntryPointVersionNotSufficent;
  }
  return cudaSuccess;
}

// --- errors ------------------------------------------------------------------

cudaError_t cudaGetLastError() { return LastError(/*forget=*/true); }
cudaError_t cudaPeekAtLastError() { return LastError(/*forget=*/false); }

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInsufficientDriver:
      return "cudaErrorInsufficientDriver";
    case cudaErrorNotReady:
      return "cudaErrorNotReady";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    case cudaErrorStreamCaptureUnsupported:
      return "cudaErrorStreamCaptureUnsupported";
    case cudaErrorStreamCaptureInvalidated:
      return "cudaErrorStreamCaptureInvalidated";
    case cudaErrorStreamCaptureImplicit:
      return "cudaErrorStreamCaptureImplicit";
    case cudaErrorCapturedEvent:
      return "cudaErrorCapturedEvent";
    case cudaErrorStreamCaptureWrongThread:
      return "cudaErrorStreamCaptureWrongThread";
    default:
      return "another error of CUDA";
  }
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated:
      return "operation failed due to a previous error during capture";
    default:
      return cudaGetErrorName(error);
  }
}

// --- memory ------------------------------------------------------------------

cudaError_t cudaMalloc(void** memory, size_t bytes) {
  return UnsafeCall("cudaMalloc", [&] {
    *memory = Memory().AllocateDevice(bytes);
    return *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
  });
}

cudaError_t cudaFree(void* memory) {
  return Free("cudaFree", memory, &FakeMemory::FreeDevice);
}

cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned int /*flags*/) {
  return UnsafeCall("cudaHostAlloc", [&] {
    *memory = Memory().AllocatePinned(bytes);
    return *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
  });
}

cudaError_t cudaFreeHost(void* memory) {
  TellThread("cudaFreeHost");
  WaitWhileHeld();
  return Free("cudaFreeHost", memory, &FakeMemory::FreePinned);
}

cudaError_t cudaHostRegister(void* memory, size_t bytes,
                             unsigned int /*flags*/) {
  return UnsafeCall("cudaHostRegister", [&] {
    Memory().Register(memory, bytes);
    return cudaSuccess;
  });
}

cudaError_t cudaHostUnregister(void* memory) {
  return UnsafeCall("cudaHostUnregister", [&] {
    return Memory().Unregister(memory) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaMemGetInfo(size_t* left, size_t* total) {
  return Call("cudaMemGetInfo", [&] {
    *total = Memory().total();
    *left = *total - Memory().used();
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes,
                                     const void* address) {
  return Call("cudaPointerGetAttributes", [&] {
    *attributes = {};
    switch (Memory().KindOf(address)) {
      case FakeMemory::Kind::kDevice:
        attributes->type = cudaMemoryTypeDevice;
        attributes->devicePointer = const_cast<void*>(address);
        break;
      case FakeMemory::Kind::kPinned:
        attributes->type = cudaMemoryTypeHost;
        attributes->devicePointer = const_cast<void*>(address);
        attributes->hostPointer = const_cast<void*>(address);
        break;
      case FakeMemory::Kind::kPageable:
        attributes->type = cudaMemoryTypeUnregistered;
        attributes->hostPointer = const_cast<void*>(address);
        break;
    }
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes,
                       cudaMemcpyKind /*kind*/) {
  return UnsafeCall("cudaMemcpy", [&] {
    return Device().DoNow(Of(cudaStream_t{}),
                          [&] { return CopyBytes(to, from, bytes); });
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes,
                            cudaMemcpyKind /*kind*/, cudaStream_t stream) {
  return Call("cudaMemcpyAsync",
              [&] { return CopyAsync(to, from, bytes, Of(stream)); });
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return UnsafeCall("cudaMemset", [&] {
    return Device().Put(Of(cudaStream_t{}),
                        [=] { return SetBytes(to, value, bytes); });
  });
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes,
                            cudaStream_t stream) {
  return Call("cudaMemsetAsync", [&] {
    return Device().Put(Of(stream), [=] { return SetBytes(to, value, bytes); });
  });
}

cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  return Call("cudaGetSymbolAddress", [&] {
    static auto* const mutex = new std::mutex;
    const std::lock_guard lock(*mutex);
    void*& there = Variables()[symbol];
    if (there == nullptr) {
      there = Memory().AllocateDevice(VariableSizes()[symbol]);
    }
    *address = there;
    return there == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
  });
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from,
                               size_t bytes, size_t offset,
                               cudaMemcpyKind kind) {
  void* to = nullptr;
  const cudaError_t error = cudaGetSymbolAddress(&to, symbol);
  return error == cudaSuccess ? cudaMemcpy(static_cast<std::byte*>(to) + offset,
                                           from, bytes, kind)
                              : error;
}

// --- streams and events ------------------------------------------------------

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream,
                                      unsigned int flags) {
  return Call("cudaStreamCreateWithFlags", [&] {
    *stream = reinterpret_cast<cudaStream_t>(Device().CreateStream(flags));
    return cudaSuccess;
  });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream,
                                         unsigned int flags, int /*priority*/) {
  return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return Call("cudaStreamDestroy",
              [&] { return Device().DestroyStream(Of(stream)); });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return Call("cudaStreamSynchronize",
              [&] { return Device().Synchronize(Of(stream)); });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return Call("cudaStreamQuery", [&] { return Device().Query(Of(stream)); });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned int /*flags*/) {
  return Call("cudaStreamWaitEvent",
              [&] { return Device().Wait(Of(stream), Of(event)); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return Call("cudaEventCreateWithFlags", [&] {
    *event = reinterpret_cast<cudaEvent_t>(new FakeEvent{.flags = flags});
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return Call("cudaEventDestroy", [&] {
    delete &Of(event);
    return cudaSuccess;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return Call("cudaEventRecord",
              [&] { return Device().Record(Of(event), Of(stream)); });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
                                     unsigned int /*flags*/) {
  return cudaEventRecord(event, stream);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return UnsafeCall("cudaEventQuery",
                    [&] { return Device().Query(Of(event)); });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return UnsafeCall("cudaEventSynchronize",
                    [&] { return Device().Synchronize(Of(event)); });
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin,
                                 cudaEvent_t end) {
  return Call("cudaEventElapsedTime",
              [&] { return Device().Elapsed(Of(begin), Of(end), ms); });
}

// --- graphs ------------------------------------------------------------------

cudaError_t cudaStreamBeginCapture(cudaStream_t stream,
                                   cudaStreamCaptureMode mode) {
  return Call("cudaStreamBeginCapture",
              [&] { return Device().BeginCapture(Of(stream), mode); });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = nullptr;
  return Call("cudaStreamEndCapture", [&] {
    std::unique_ptr<FakeGraph> recorded;
    const cudaError_t error = Device().EndCapture(Of(stream), recorded);
    *graph = reinterpret_cast<cudaGraph_t>(recorded.release());
    return error;
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
                                  cudaStreamCaptureStatus* status) {
  return Call("cudaStreamIsCapturing", [&] {
    *status = Device().CaptureOf(Of(stream), nullptr);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream,
                                     cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges,
                                     size_t* count) {
  uint64_t number = 0;
  *status = Device().CaptureOf(Of(stream), &number);
  if (id != nullptr) {
    *id = number;
  }
  if (graph != nullptr) {
    *graph = nullptr;
  }
  if (dependencies != nullptr) {
    *dependencies = nullptr;
  }
  if (edges != nullptr) {
    *edges = nullptr;
  }
  if (count != nullptr) {
    *count = 0;
  }
  return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  *mode = FakeDevice::ExchangeMode(*mode);
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* /*nodes*/,
                              size_t* count) {
  return Call("cudaGraphGetNodes", [&] {
    *count = reinterpret_cast<FakeGraph*>(graph)->steps.size();
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* launchable,
                                          cudaGraph_t graph,
                                          unsigned long long /*flags*/) {
  return Call("cudaGraphInstantiateWithFlags", [&] {
    static std::atomic<uint64_t> count = 0;
    auto* const made = new FakeGraph(*reinterpret_cast<FakeGraph*>(graph));
    if (++count == FakeScenario::Get().wrong_graph && !made->steps.empty()) {
      made->steps.pop_back();
    }
    *launchable = reinterpret_cast<cudaGraphExec_t>(made);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  return Call("cudaGraphLaunch", [&] {
    return Device().Launch(Of(stream), *reinterpret_cast<FakeGraph*>(graph));
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return Call("cudaGraphDestroy", [&] {
    delete reinterpret_cast<FakeGraph*>(graph);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  return Call("cudaGraphExecDestroy", [&] {
    delete reinterpret_cast<FakeGraph*>(graph);
    return cudaSuccess;
  });
}

// --- kernels -----------------------------------------------------------------

void** __cudaRegisterFatBinary(void* code) {
  return new void*(code);  // one a library
}
void __cudaRegisterFatBinaryEnd(void** /*handle*/) {}
void __cudaUnregisterFatBinary(void** handle) { delete handle; }

void __cudaRegisterFunction(void** /*handle*/, const char* host_function,
                            char* /*device_function*/, const char* name,
                            int /*threads*/, uint3*, uint3*, dim3*, dim3*,
                            int*) {
  FakeKernels::Get().Register(host_function, name);
}

void __cudaRegisterVar(void** /*handle*/, char* host_variable,
                       char* /*address*/, const char* /*name*/, int /*ext*/,
                       size_t bytes, int /*constant*/, int /*global*/) {
  VariableSizes()[host_variable] = bytes;
}

unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                         CUstream_st* stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared,
                                       void* stream) {
  if (configurations.empty()) {
    return cudaErrorMissingConfiguration;
  }
  const Configuration configuration = configurations.back();
  configurations.pop_back();
  *grid = configuration.grid;
  *block = configuration.block;
  *shared = configuration.shared;
  *static_cast<cudaStream_t*>(stream) = configuration.stream;
  return cudaSuccess;
}

// The handle of a kernel is its function on the host.
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(host_function));
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block,
                               void** args, size_t /*shared*/,
                               cudaStream_t stream) {
  return Launch("cudaLaunchKernel", kernel, grid, block, args, stream);
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block,
                             void** args, size_t /*shared*/,
                             cudaStream_t stream) {
  return Launch("cudaLaunchKernel", function, grid, block, args, stream);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config,
                                const void* function, void** args) {
  return Launch("cudaLaunchKernel", function, config->gridDim, config->blockDim,
                args, config->stream);
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes,
                                  const void* /*function*/) {
  *attributes = {};
  attributes->maxThreadsPerBlock = 1024;
  attributes->numRegs = 32;
  attributes->binaryVersion = 90;
  attributes->ptxVersion = 90;
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) {
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void*, int, size_t, unsigned int) {
  *blocks = 8;
  return cudaSuccess;
}

}  // extern "C"

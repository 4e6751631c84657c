// Implements the entries of ferry_cuda, the library that holds what needs CUDA.
#include "models/cuda/cuda_entry.h"

#include <utility>

#include "models/build_identity.h"
#include "models/cuda/cuda_device.h"

const char* FerryCudaBuild() { return ferry::BuildIdentity(); }

void FerryOpenCuda(double memory_share,
                   absl::StatusOr<ferry::OpenedCuda>& opened) {
  auto device = ferry::CudaDevice::Open(memory_share);
  if (!device.ok()) {
    opened = device.status();
    return;
  }
  ferry::OpenedCuda result;
  result.uuids = (*device)->uuids();
  result.multiprocessors = (*device)->multiprocessors();
  result.description = (*device)->description();
  const std::shared_ptr<ferry::CudaDevice> shared = *std::move(device);
  result.is_lost = [shared] { return shared->IsLost(); };
  result.device = shared;
  opened = std::move(result);
}

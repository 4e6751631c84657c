// The entries of the shared library that holds what needs CUDA.
#include "models/cuda/cuda_entry.h"

#include <utility>

#include "models/build_identity.h"
#include "models/cuda/cuda_device.h"

const char* FerryCudaBuild() { return ferry::BuildIdentity(); }

void FerryOpenCuda(double memory_fraction,
                   absl::StatusOr<ferry::OpenedCuda>& opened) {
  auto device = ferry::CudaDevice::Open(memory_fraction);
  if (!device.ok()) {
    opened = device.status();
    return;
  }
  ferry::OpenedCuda result;
  result.uuids = (*device)->uuids();
  result.description = (*device)->description();
  result.device = *std::move(device);
  opened = std::move(result);
}

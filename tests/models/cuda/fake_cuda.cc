// This library exports what ferry_cuda does, and opens no device. Its build is
// FAKE_BUILD; without that it tells none, as before there was a FerryCudaBuild.
#include "models/build_identity.h"
#include "models/cuda/cuda_entry.h"

#ifdef FAKE_BUILD
const char* FerryCudaBuild() { return FAKE_BUILD; }
#endif

void FerryOpenCuda(double memory_share,
                   absl::StatusOr<ferry::OpenedCuda>& opened) {
  opened = ferry::OpenedCuda{.device = nullptr,
                             .is_lost = {},
                             .uuids = {"GPU-a"},
                             .multiprocessors = 132,
                             .description = memory_share == 0.5 ? "half"
                                            : memory_share == 1 ? "all"
                                                                : "other"};
}

// Slice names one device that one server gets: a MIG slice, a GPU, or the CPU.
//
// Thread safety: a plain value.
#ifndef FERRY_DEPLOY_LAUNCH_SLICE_H_
#define FERRY_DEPLOY_LAUNCH_SLICE_H_

#include <cstdint>
#include <string>

namespace ferry::launch {

struct Slice {
  std::string uuid{};        // "MIG-..." or "GPU-..."; empty: the CPU
  std::string profile{};     // "1g.18gb"; empty: unknown, or no MIG slice
  int64_t memory_bytes = 0;  // 0: unknown
  int numa_node = -1;        // -1: unknown
};

}  // namespace ferry::launch

#endif  // FERRY_DEPLOY_LAUNCH_SLICE_H_

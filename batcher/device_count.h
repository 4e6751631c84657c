// DeviceCount counts an event that only some backends have, for metrics.
//
// Thread safety: plain value.
#ifndef FERRY_BATCHER_DEVICE_COUNT_H_
#define FERRY_BATCHER_DEVICE_COUNT_H_

#include <cstdint>

namespace ferry {

struct DeviceCount {
  const char* event = "";  // constant: "graph_launched", "out_of_memory", ...
  uint64_t count = 0;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_DEVICE_COUNT_H_

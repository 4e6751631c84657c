// NumaNode() finds the NUMA node of a device, and BindThread() binds a thread
// to it: threads that it starts later inherit that, and memory comes from the
// node whose processor touches it first, pinned memory too.
//
// Thread safety: thread-safe; BindThread() is about the calling thread.
// Errors: what sysfs does not tell is absent; a machine with one node often
// says that there is none.
#ifndef FERRY_MODELS_NVML_NUMA_NODE_H_
#define FERRY_MODELS_NVML_NUMA_NODE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace ferry::nvml {

inline constexpr char kSysfs[] = "/sys";

// Returns the node of a PCI device (0000:1b:00.0). `sysfs` is the root, so that
// tests make their own.
std::optional<int> NumaNode(const std::string& pci_bus_id,
                            const std::string& sysfs = kSysfs);

// Returns the processors of a node, ascending; none where they are not told.
std::vector<int> ProcessorsOfNode(int node, const std::string& sysfs = kSysfs);

// Reads "0-3,8,10-11"; nothing where it is no such list.
std::optional<std::vector<int>> ParseProcessors(absl::string_view list);

// Binds the calling thread to those of the processors that it may use already.
// FAILED_PRECONDITION where there are none of them: then nothing changes.
absl::Status BindThread(absl::Span<const int> processors);

}  // namespace ferry::nvml

#endif  // FERRY_MODELS_NVML_NUMA_NODE_H_

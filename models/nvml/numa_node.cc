// Implements NumaNode from sysfs and BindThread by sched_setaffinity().
#include "models/nvml/numa_node.h"

#include <sched.h>

#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace ferry::nvml {
namespace {

constexpr int kMaxProcessors = CPU_SETSIZE;

std::optional<std::string> ReadLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  return std::getline(file, line) ? std::optional<std::string>(line)
                                  : std::nullopt;
}

// SimpleAtoi would take a sign.
bool ToProcessor(absl::string_view text, int& processor) {
  return !text.empty() &&
         absl::ascii_isdigit(static_cast<unsigned char>(text[0])) &&
         absl::SimpleAtoi(text, &processor) && processor < kMaxProcessors;
}

}  // namespace

std::optional<int> NumaNode(const std::string& pci_bus_id,
                            const std::string& sysfs) {
  if (pci_bus_id.empty()) {
    return std::nullopt;
  }
  const std::optional<std::string> line = ReadLine(
      absl::StrCat(sysfs, "/bus/pci/devices/", pci_bus_id, "/numa_node"));
  int node = -1;  // as the kernel says that it does not know
  if (!line.has_value() || !absl::SimpleAtoi(*line, &node) || node < 0) {
    return std::nullopt;
  }
  return node;
}

std::vector<int> ProcessorsOfNode(int node, const std::string& sysfs) {
  const std::optional<std::string> line = ReadLine(
      absl::StrCat(sysfs, "/devices/system/node/node", node, "/cpulist"));
  return line.has_value() ? ParseProcessors(*line).value_or(std::vector<int>())
                          : std::vector<int>();
}

std::optional<std::vector<int>> ParseProcessors(absl::string_view list) {
  std::vector<int> processors;
  list = absl::StripAsciiWhitespace(list);
  if (list.empty()) {  // a node of memory alone
    return processors;
  }
  for (const absl::string_view part : absl::StrSplit(list, ',')) {
    const std::vector<absl::string_view> ends =
        absl::StrSplit(part, absl::MaxSplits('-', 1));
    int first = 0;
    int last = 0;
    if (!ToProcessor(ends.front(), first) || !ToProcessor(ends.back(), last) ||
        last < first) {
      return std::nullopt;
    }
    for (int processor = first; processor <= last; ++processor) {
      processors.push_back(processor);
    }
  }
  return processors;
}

absl::Status BindThread(absl::Span<const int> processors) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
    return absl::FailedPreconditionError(
        "expected at most 1024 processors, got more");
  }
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  for (const int processor : processors) {
    if (CPU_ISSET(static_cast<size_t>(processor), &allowed)) {
      CPU_SET(static_cast<size_t>(processor), &wanted);
    }
  }
  if (CPU_COUNT(&wanted) == 0 ||
      sched_setaffinity(0, sizeof(wanted), &wanted) != 0) {
    return absl::FailedPreconditionError(
        "expected a processor of the device's NUMA node among those that this "
        "process may use, got none");
  }
  return absl::OkStatus();
}

}  // namespace ferry::nvml

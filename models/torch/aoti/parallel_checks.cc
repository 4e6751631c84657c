// Implements CheckParallelRegions: reads the sources line by line.
#include "models/torch/aoti/parallel_checks.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "models/torch/aoti/elf_library.h"

namespace ferry {
namespace {

constexpr absl::string_view kRegion = "omp parallel";
// What ends in a throw: AOTI_TORCH_CHECK and TORCH_CHECK among them.
constexpr absl::string_view kThrows[] = {"_CHECK(", "throw "};

struct Regions {
  bool exist = false;
  bool have_checks = false;
};

// A region is the statement after its pragma: a block, or loops before one.
void Find(absl::string_view source, Regions& found) {
  bool is_in_region = false;
  bool has_block = false;
  int64_t depth = 0;  // of braces in the region
  for (const absl::string_view line : absl::StrSplit(source, '\n')) {
    if (!is_in_region) {
      is_in_region = absl::StrContains(line, kRegion);
      found.exist |= is_in_region;
      has_block = false;
      depth = 0;
      continue;
    }
    found.have_checks |= std::any_of(
        std::begin(kThrows), std::end(kThrows),
        [line](absl::string_view one) { return absl::StrContains(line, one); });
    const int64_t opened = std::count(line.begin(), line.end(), '{');
    depth += opened - std::count(line.begin(), line.end(), '}');
    has_block |= opened > 0;
    is_in_region = !has_block || depth > 0;
  }
}

}  // namespace

absl::Status CheckParallelRegions(absl::Span<const std::byte> library,
                                  const std::vector<std::string>& sources) {
  if (!HasParallelRegions(library)) {
    return absl::OkStatus();
  }
  Regions found;
  for (const std::string& source : sources) {
    Find(source, found);
  }
  if (found.exist && !found.have_checks) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "its parallel loops check values, or may do so, and a request that fails "
      "a check there would end the server: compile it with "
      "torch._inductor.config.cpp.threads = 1 and without cpp.dynamic_threads, "
      "as scripts/export.sh does");
}

}  // namespace ferry

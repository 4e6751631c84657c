// CheckParallelRegions() finds code of a package that would end the process.
//
// Torch compiles checks of values (an index within its table, an assertion) as
// throws, and by default puts its loops into OpenMP's parallel regions, also
// with one thread. What is thrown there cannot be caught: one request with a
// wrong index would end every model. Compiled with cpp.threads = 1 the loops
// are ordinary ones, and such a request fails its batch.
//
// Thread safety: free functions.
#ifndef FERRY_MODELS_TORCH_AOTI_PARALLEL_CHECKS_H_
#define FERRY_MODELS_TORCH_AOTI_PARALLEL_CHECKS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace ferry {

// INVALID_ARGUMENT, with what to do, where a throw in a parallel region of that
// library can end the process: its sources have a check in one, or do not show
// the regions.
absl::Status CheckParallelRegions(absl::Span<const std::byte> library,
                                  const std::vector<std::string>& sources);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_AOTI_PARALLEL_CHECKS_H_

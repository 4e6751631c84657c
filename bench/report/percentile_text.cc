// Implements PercentileMs(), by the rule of the intervals.
#include "bench/report/percentile_text.h"

#include "absl/strings/str_cat.h"
#include "bench/load/batch_means.h"
#include "bench/report/number_text.h"

namespace ferry::bench {

bool IsBacked(uint64_t samples, double q) {
  return q >= 1 || samples >= SamplesFor(q);
}

std::string PercentileMs(double us, uint64_t samples, double q) {
  return us == 0 ? "-"
                 : absl::StrCat(Ms(us), IsBacked(samples, q) ? "" : kUnbacked);
}

}  // namespace ferry::bench

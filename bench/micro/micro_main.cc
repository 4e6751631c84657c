// Implements main() of the micro-benchmarks: Google Benchmark's, one flag more.
//
//   --iterations N   runs each counted benchmark that often and no other times,
//                    so that the instructions of two runs which differ in N
//                    alone differ by those of the loop (scripts/show.sh micro)
//
// Exits 1 where a flag is wrong or no benchmark matches the filter.
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <system_error>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "bench/micro/counted.h"

namespace ferry::bench {
namespace {

// Those of Counted(); they live as long as the process.
std::vector<benchmark::internal::Benchmark*>& CountedBenchmarks() {
  static auto* const counted =
      new std::vector<benchmark::internal::Benchmark*>();
  return *counted;
}

// Returns whether `text` is a number of iterations.
bool SetIterations(std::string_view text) {
  int64_t iterations = 0;
  const char* const end = text.data() + text.size();
  const std::from_chars_result read =
      std::from_chars(text.data(), end, iterations);
  if (read.ec != std::errc() || read.ptr != end || iterations < 1) {
    return false;
  }
  for (benchmark::internal::Benchmark* const counted : CountedBenchmarks()) {
    counted->Iterations(iterations);
  }
  return true;
}

// Takes --iterations out of the arguments. Returns whether it was right.
bool TakeIterations(int& argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--iterations") != 0) {
      continue;
    }
    const char* const given = i + 1 < argc ? argv[i + 1] : "nothing";
    if (!SetIterations(given)) {
      std::fprintf(stderr,
                   "--iterations: expected a whole number >= 1, got %s\n",
                   given);
      return false;
    }
    for (int rest = i + 2; rest <= argc; ++rest) {
      argv[rest - 2] = argv[rest];  // the null behind the last one, too
    }
    argc -= 2;
    return true;
  }
  return true;
}

}  // namespace

void Counted(benchmark::internal::Benchmark* benchmark) {
  CountedBenchmarks().push_back(benchmark);
}

}  // namespace ferry::bench

int main(int argc, char** argv) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  if (!ferry::bench::TakeIterations(argc, argv)) {
    return 1;
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 1;
  }
  const size_t found = benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return found == 0 ? 1 : 0;
}

// ArrivalShape says how the arrivals of an open loop are spread around their
// mean rate, as --arrivals names it.
//
// Thread safety: a plain value; `make` may be called from any thread.
#ifndef FERRY_BENCH_ARRIVALS_ARRIVAL_SHAPE_H_
#define FERRY_BENCH_ARRIVALS_ARRIVAL_SHAPE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "bench/arrivals/arrival_process.h"

namespace ferry::bench {

struct ArrivalShape {
  // The text as typed, but of a trace's path the last part: "gamma:3".
  std::string name;
  // A trace's, in arrivals per second, its scale included; 0: has none.
  double own_rate = 0;
  bool has_scale = false;  // a trace's scale was given
  // A trace's, in one round of it; 0: is none.
  double trace_arrivals = 0;
  // Returns arrivals of that mean rate, > 0.
  std::function<std::unique_ptr<ArrivalProcess>(double per_second,
                                                uint64_t seed)>
      make;
};

ArrivalShape PoissonShape();

// What ParseArrivals() takes.
inline constexpr char kArrivalForms[] =
    "poisson, constant, gamma:CV, bursts:MEAN, onoff:ON_MS,OFF_MS[,SHARE] or "
    "trace:FILE[,SCALE]";

// Reads one of kArrivalForms; a trace's file is read at once.
//   CV       standard deviation / mean of the gaps, 0.01 to 100
//   MEAN     requests of a burst, 1 to 1e6
//   ON_MS    mean time that it is on, and OFF_MS off, in ms, 0.1 to 1e8
//   SHARE    rate while off / rate while on, 0 to 1; 0
//   SCALE    speed of a trace, 1e-6 to 1e6: 2 is twice its rate; 1
// Errors: INVALID_ARGUMENT, with what was expected and what was found; those of
// ArrivalTrace::Read().
absl::StatusOr<ArrivalShape> ParseArrivals(const std::string& text);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_ARRIVALS_ARRIVAL_SHAPE_H_

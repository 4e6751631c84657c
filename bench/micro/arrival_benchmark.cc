// Measures what the load generator pays for each request: reading the clock,
// and drawing the gap to the next.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>

#include "absl/random/random.h"
#include "absl/time/clock.h"
#include "base/check.h"
#include "base/clock.h"
#include "bench/arrivals/arrival_process.h"
#include "bench/arrivals/arrival_shape.h"
#include "bench/load/pacer.h"
#include "bench/micro/counted.h"

namespace ferry::bench {
namespace {

int64_t ReadFerry() { return ToNanos(Clock::Steady().Now()); }
int64_t ReadPacer() {
  static SteadyPacer pacer;
  return ToNanos(static_cast<const Pacer&>(pacer).Now());
}
int64_t ReadStd() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}
// Wall time: not for intervals.
int64_t ReadAbsl() { return absl::GetCurrentTimeNanos(); }

using ReadClock = int64_t (*)();

// Not counted: callgrind does not read the clock as the vDSO does.
void BM_ReadClock(benchmark::State& state, ReadClock read) {
  const int64_t begin = read();
  int64_t now = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(now = read());
  }
  Check(now >= begin, "time goes on");
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(BM_ReadClock, ferry, ReadFerry)->Name("read_clock/clock");
BENCHMARK_CAPTURE(BM_ReadClock, pacer, ReadPacer)->Name("read_clock/pacer");
BENCHMARK_CAPTURE(BM_ReadClock, std, ReadStd)
    ->Name("read_clock/std_steady_clock");
BENCHMARK_CAPTURE(BM_ReadClock, absl, ReadAbsl)
    ->Name("read_clock/absl_wall_clock");

constexpr uint64_t kSeed = 42;

// Each draw has mean 1.
struct Exponential {
  static constexpr char kArrivals[] = "poisson";
  static constexpr double kVariance = 1;
  using StdDistribution = std::exponential_distribution<>;
  static StdDistribution MakeStd() { return StdDistribution(1); }
};

struct Gamma {
  static constexpr char kArrivals[] = "gamma:3";
  static constexpr double kVariance = 9;
  using StdDistribution = std::gamma_distribution<>;
  static StdDistribution MakeStd() { return StdDistribution(1.0 / 9, 9); }
};

// Gaps of an open loop, at one a second, in seconds.
template <typename D>
class ShapeDraw {
 public:
  using Distribution = D;

  ShapeDraw() : process_(ParseArrivals(D::kArrivals)->make(1, kSeed)) {}
  double operator()() {
    return static_cast<double>(process_->NextGap().count()) / 1e9;
  }

 private:
  std::unique_ptr<ArrivalProcess> process_;
};

template <typename D>
class StdDraw {
 public:
  using Distribution = D;

  double operator()() { return distribution_(random_); }

 private:
  std::mt19937_64 random_{kSeed};
  typename D::StdDistribution distribution_ = D::MakeStd();
};

class AbslDraw {
 public:
  using Distribution = Exponential;

  double operator()() { return absl::Exponential<double>(random_); }

 private:
  std::seed_seq seed_{kSeed};
  absl::InsecureBitGen random_{seed_};
};

// Checks mean and variance of many draws. Seeds are fixed, so that this holds
// always or never; the gammas' mean has a deviation of 1 % here, and their
// variance one of 2.4 %.
template <typename Draw>
void CheckMoments() {
  constexpr int kDraws = 100'000;
  constexpr double kVariance = Draw::Distribution::kVariance;
  Draw draw;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double value = draw();
    sum += value;
    squares += value * value;
  }
  const double mean = sum / kDraws;
  const double variance = squares / kDraws - mean * mean;
  Check(std::abs(mean - 1) < 0.05, "the mean is as asked for");
  Check(std::abs(variance / kVariance - 1) < 0.1,
        "the variance is as asked for");
}

template <typename Draw>
void BM_Draw(benchmark::State& state) {
  CheckMoments<Draw>();
  Draw draw;
  double value = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(value = draw());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Draw<ShapeDraw<Exponential>>)
    ->Name("draw_exponential_gap/arrival_process")
    ->Apply(Counted);
BENCHMARK(BM_Draw<StdDraw<Exponential>>)
    ->Name("draw_exponential_gap/std_distribution")
    ->Apply(Counted);
BENCHMARK(BM_Draw<AbslDraw>)
    ->Name("draw_exponential_gap/absl_exponential")
    ->Apply(Counted);
BENCHMARK(BM_Draw<ShapeDraw<Gamma>>)
    ->Name("draw_gamma_gap/arrival_process")
    ->Apply(Counted);
BENCHMARK(BM_Draw<StdDraw<Gamma>>)
    ->Name("draw_gamma_gap/std_distribution")
    ->Apply(Counted);

}  // namespace
}  // namespace ferry::bench

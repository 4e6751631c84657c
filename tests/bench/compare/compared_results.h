// DrawPoint() makes points from drawn latencies, for the tests of comparisons.
#ifndef FERRY_TESTS_BENCH_COMPARE_COMPARED_RESULTS_H_
#define FERRY_TESTS_BENCH_COMPARE_COMPARED_RESULTS_H_

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bench/report/run_result.h"

namespace ferry::bench {

inline constexpr int kSlices = 30;

// What a run is drawn from.
struct DrawnRun {
  double mean_ms = 10;
  int per_slice = 400;  // requests
  double failed = 0;    // share of them
  double wave = 0;      // how much the slices vary: the deviation of the log
  double alike = 0;     // correlation of one slice's with the next's
};

// A closed loop of 30 slices of 1 s whose latencies are exponential.
inline PointResult DrawPoint(std::mt19937_64& random, const DrawnRun& drawn) {
  std::exponential_distribution<double> latency(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::normal_distribution<double> noise(0, 1);
  auto load = std::make_unique<LoadResult>();
  load->slices.resize(kSlices);
  load->slice = std::chrono::seconds(1);
  load->window = std::chrono::seconds(kSlices);
  double wave = noise(random) * drawn.wave;
  for (LoadSlice& slice : load->slices) {
    wave = drawn.alike * wave + std::sqrt(1 - drawn.alike * drawn.alike) *
                                    drawn.wave * noise(random);
    // A closed loop that waits longer sends less.
    const int calls = static_cast<int>(drawn.per_slice / std::exp(wave));
    for (int call = 0; call < calls; ++call) {
      ++slice.planned;
      ++load->planned;
      ++load->ok_in_window;
      if (uniform(random) < drawn.failed) {
        ++slice.failed;
        ++load->ended[14];
        continue;
      }
      const Duration took =
          Milliseconds(drawn.mean_ms * std::exp(wave) * latency(random));
      RecordLatency(load->latency, took);
      RecordLatency(slice.latency, took);
      ++load->ended[0];
    }
  }
  PointResult point = Summarize(*load, ServerWindow());
  point.loop = "closed";
  point.outstanding = 4;
  point.void_reason.clear();
  point.mean_rows = 3;
  return point;
}

inline RunResult RunOf(const std::string& label, PointResult point,
                       const std::string& date = "2026-01-01T00:00:00Z") {
  RunResult run;
  run.label = label;
  run.date = date;
  run.model = "mlp";
  run.cpu = "cpu";
  run.points.push_back(std::move(point));
  return run;
}

}  // namespace ferry::bench

#endif  // FERRY_TESTS_BENCH_COMPARE_COMPARED_RESULTS_H_

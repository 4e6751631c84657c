// SloSearch finds the highest rate at which a bound is met: it says which rate
// to try next and is told whether that met the bound.
//
// A miss, or a rate that could not be tried, counts when it comes twice in a
// row: one stall would else cap the search for good.
//
//   bracket   a multiple of the rate until one misses, or a part until one
//             meets: twice and half where nothing is known of it
//   bisect    the geometric middle, until both ends are half of `precision`
//             apart
//   confirm   the winner again, `confirmations` times in a row; each time it
//             misses, the rate steps down by half of `precision`: bisection
//             alone picks lucky tries
//
// Thread safety: thread-compatible; pure logic, no clock.
#ifndef FERRY_BENCH_SEARCH_SLO_SEARCH_H_
#define FERRY_BENCH_SEARCH_SLO_SEARCH_H_

#include <cstdint>
#include <optional>

namespace ferry::bench {

struct SloSearchOptions {
  double first_rate = 100;  // requests/s
  double precision = 0.02;  // share of the rate
  int32_t confirmations = 3;
  int32_t max_tries = 60;
  double growth = 2;  // of the rate from one try of the bracket to the next
};

class SloSearch {
 public:
  enum class Stage : uint8_t { kBracket, kBisect, kConfirm };

  struct Try {
    double rate;  // requests/s
    Stage stage;
  };

  // REQUIRES: first_rate > 0, 0 < precision <= 1, growth > 1.
  explicit SloSearch(const SloSearchOptions& options) : options_(options) {}

  // Returns what to try; nothing once the search has ended.
  std::optional<Try> Next() const;

  // How the last Try ended.
  void Report(bool met);

  // The last Try cannot be judged by. Where that comes twice it has missed.
  void ReportDoubt();

  // The last Try could not be made, it was too high for the client. Where that
  // comes twice, the highest that met is what is confirmed, or without one a
  // lower rate is tried; a confirmation steps down. At the third such rate in a
  // row the search ends, and no rate is confirmed.
  void ReportCeiling();

  // Requests/s; nothing where no rate was confirmed, or not yet.
  std::optional<double> found() const;

  struct Left {
    int32_t narrowing = 0;   // tries that bracket and bisect
    int32_t confirming = 0;  // and those that confirm
  };

  // About how many tries are left, at least one where there is a Next().
  Left TriesLeft() const;

  // About how many tries a search takes that knows little of the rate.
  static int32_t UsualTries(const SloSearchOptions& options);

 private:
  // Below this share of the first rate there is nothing to be found.
  static constexpr double kLeastShare = 1.0 / 4096;
  static constexpr int32_t kMostLateRates = 3;

  // Whether a miss is the second at its rate.
  bool IsConfirmed();

  // Goes on below a rate that was too high for the client.
  void LowerRate();

  bool is_bracketed() const { return met_ > 0 && missed_ > 0; }
  bool is_narrow() const {
    return is_bracketed() && missed_ <= met_ * (1 + StepOf(options_));
  }
  static double StepOf(const SloSearchOptions& options) {
    return options.precision / 2;
  }

  const SloSearchOptions options_;
  double met_ = 0;        // the highest rate that met; 0: none
  double missed_ = 0;     // the lowest above it that missed; 0: none
  double candidate_ = 0;  // of the confirmation; 0: not begun
  int32_t confirmed_ = 0;
  bool has_missed_once_ = false;  // the rate that is tried now
  int32_t late_rates_ = 0;        // in a row, too high for the client
  int32_t tries_ = 0;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_SEARCH_SLO_SEARCH_H_

// RateSearch finds the highest open-loop rate at which a share of the requests
// is answered well within a bound: SloSearch with a server to try it on.
//
// A try meets the bound where the share of its requests that missed it is
// within what the bound allows (one that fails has missed it), where the server
// kept up with what was sent, and where it was steady. While the rate is only
// narrowed down a try ends as soon as the early-stopping test decides;
// confirmations take their whole time, and those of one rate must meet the
// bound together: that each does alone asks for a lower rate the shorter they
// are. One that was not steady is made again.
//
// A window is long against the bound, whatever was asked for: at a rate of
// (1 + e) times what a server can do, latency grows to e of the window within
// it, so that all of a short one may be answered within the bound.
//
// Several processes that send (LoadSource) know nothing of each other's
// requests before the window's end: all their tries take the whole window.
//
// Thread safety: thread-compatible; Stop(), progress() and later() from any
// thread.
// Errors: those of the LoadSource, which end it.
#ifndef FERRY_BENCH_SEARCH_RATE_SEARCH_H_
#define FERRY_BENCH_SEARCH_RATE_SEARCH_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/clock.h"
#include "bench/arrivals/arrival_shape.h"
#include "bench/client/counter_source.h"
#include "bench/load/load_source.h"
#include "bench/load/pacer.h"
#include "bench/report/run_result.h"
#include "bench/search/slo.h"
#include "bench/search/slo_search.h"

namespace ferry::bench {

struct RateSearchOptions {
  Slo slo;
  ArrivalShape arrivals = PoissonShape();
  SloSearchOptions search;
  Duration warm_up = Milliseconds(1000);    // before each try
  Duration measured = Milliseconds(10000);  // of each, at most
  int32_t max_outstanding = 8192;
  uint64_t seed = 1;  // of the arrivals; each try adds one
  // Nothing below the first rate is of interest: where that misses it ends.
  bool only_above = false;
};

// Returns the shortest window that tells whether a server keeps a bound: fifty
// times that, in which a rate 2 % above what it can do outgrows the bound.
Duration LeastWindow(const Slo& slo);

// Returns the shortest warm-up: requests that it left are answered within the
// window as many others are after it.
Duration LeastWarmUp(const Slo& slo);

// Returns the options with windows and warm-ups of that length at least.
RateSearchOptions WithLongWindows(RateSearchOptions options);

// Returns how long a search usually takes, at most: each try its whole window.
Duration UsualTime(const RateSearchOptions& options);

class RateSearch {
 public:
  // A try; its `purpose` says why it was made and how it ended.
  using OnTry = std::function<void(const PointResult&)>;

  // All but the options outlive it. The arrivals of `loads` are those of the
  // options, `pacer` has their time. Windows and warm-ups are lengthened to
  // what the bound takes.
  RateSearch(const RateSearchOptions& options, LoadSource& loads, Pacer& pacer,
             const CounterSource* probe, int32_t instances);

  // Appends a point for each try to run.points and calls `on_try` after each.
  // Returns requests/s; nothing where no rate was found, it was stopped, or
  // status() is an error.
  std::optional<double> Run(RunResult& run, const OnTry& on_try);

  // One try, as Run() makes them; false where none is left, it was stopped, or
  // status() is an error.
  bool Step(RunResult& run, const OnTry& on_try);

  // Whether Step() has one to make.
  bool has_next() const {
    return !has_ended_ && !stopped_.load(std::memory_order_relaxed) &&
           search_.Next().has_value();
  }

  // What Run() returns.
  std::optional<double> found() const;

  // Whether Stop() kept it from diagnostic a rate.
  bool is_stopped() const {
    return stopped_.load(std::memory_order_relaxed) && !found().has_value();
  }

  // The error that ended the sender.
  const absl::Status& status() const { return status_; }

  // Ends the try under way and the search.
  void Stop();

  // Tells of the load under way; nothing between two. Any thread.
  std::optional<LoadProgress> progress() const { return loads_.progress(); }

  // About how long the tries take that follow the one under way: as many as
  // SloSearch expects, those that narrow the rate down as long as such took so
  // far. Any thread.
  Duration later() const { return later_.load(std::memory_order_relaxed); }

  // The last rate that the client could not send on time, unless it did so
  // later, or the server missed the bound at a lower one; 0: it could all.
  double client_ceiling() const { return client_ceiling_; }

 private:
  enum class Outcome : uint8_t { kMet, kMissed, kUnsteady, kClientLate };

  absl::StatusOr<PointResult> Measure(const SloSearch::Try& next,
                                      Outcome& outcome);
  SloSearch::Left TriesLeft() const;
  Duration TimeOf(const SloSearch::Left& tries) const;
  Outcome OutcomeOf(SloSearch::Stage stage, const LoadResult& load) const;
  static const char* NameOf(SloSearch::Stage stage, Outcome outcome);
  // Whether a confirmation stands, with those of the same rate before it.
  bool IsConfirmed(double rate, const LoadResult& load);
  void Tell(double rate, Outcome outcome);
  bool IsDecided(const LoadResult& load, TimePoint begin) const;

  const RateSearchOptions options_;
  const CounterSource* const probe_;  // null: none
  const int32_t instances_;
  LoadSource& loads_;
  Pacer& pacer_;
  SloSearch search_;
  absl::Status status_;
  bool has_ended_ = false;  // before the search found anything
  std::atomic<bool> stopped_{false};
  std::atomic<Duration> later_{Duration(0)};
  uint64_t tries_ = 0;
  bool has_met_ = false;
  // Tries that narrowed the rate down.
  struct {
    int32_t count = 0;
    Duration time{0};
  } narrowed_;
  // Confirmations of one rate.
  struct {
    double rate = 0;
    int32_t runs = 0;
    SloCounts counts;
  } together_;
  double client_ceiling_ = 0;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_SEARCH_RATE_SEARCH_H_

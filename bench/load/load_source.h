// LoadSource sends the loads of a sweep or a search, from this process or from
// several.
//
// Thread safety: one load at a time; Stop() and progress() from any thread.
#ifndef FERRY_BENCH_LOAD_LOAD_SOURCE_H_
#define FERRY_BENCH_LOAD_LOAD_SOURCE_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "bench/arrivals/arrival_shape.h"
#include "bench/load/load_generator.h"
#include "bench/load/load_result.h"
#include "bench/load/pacer.h"

namespace ferry::bench {

class LoadSource {
 public:
  using Loaded = absl::StatusOr<std::unique_ptr<LoadResult>>;

  virtual ~LoadSource() = default;

  // Each measures one load, as LoadGenerator does. Errors: of the sender; what
  // the server does is in the result. LoadPlan::is_decided is a word of this
  // process: where others send, the window is measured whole.
  virtual Loaded RunClosed(int32_t outstanding, const LoadPlan& plan) = 0;
  virtual Loaded RunOpen(double rate, uint64_t seed, const LoadPlan& plan) = 0;
  virtual Loaded RunOffline(uint64_t calls, int32_t outstanding,
                            const LoadPlan& plan) = 0;

  // Ends the load under way, and any later one, early.
  virtual void Stop() = 0;

  virtual std::optional<LoadProgress> progress() const = 0;

  // How long before its start a plan has to be handed over.
  virtual Duration lead_time() const { return Duration(0); }
};

// Sends from this process.
class OwnLoads final : public LoadSource {
 public:
  // `target` outlives it.
  OwnLoads(Target& target, const ArrivalShape& arrivals)
      : arrivals_(arrivals), generator_(target, own_pacer_) {}

  // Paced by `pacer`, which outlives it too.
  OwnLoads(Target& target, const ArrivalShape& arrivals, Pacer& pacer)
      : arrivals_(arrivals), generator_(target, pacer) {}

  Loaded RunClosed(int32_t outstanding, const LoadPlan& plan) override {
    return generator_.RunClosed(outstanding, plan);
  }
  Loaded RunOpen(double rate, uint64_t seed, const LoadPlan& plan) override {
    return generator_.RunOpen(*arrivals_.make(rate, seed), plan);
  }
  Loaded RunOffline(uint64_t calls, int32_t outstanding,
                    const LoadPlan& plan) override {
    return generator_.RunOffline(calls, outstanding, plan);
  }
  void Stop() override { generator_.Stop(); }
  std::optional<LoadProgress> progress() const override {
    return generator_.progress();
  }

 private:
  const ArrivalShape arrivals_;
  SteadyPacer own_pacer_;
  LoadGenerator generator_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_LOAD_LOAD_SOURCE_H_

// Implements OnOffArrivals: the next arrival races with the state's end. The
// loser is drawn anew: an exponential does not remember how long it has waited.
#include "bench/arrivals/on_off_arrivals.h"

#include <limits>

#include "base/check.h"

namespace ferry::bench {
namespace {

double Nanos(Duration duration) {
  return static_cast<double>(duration.count());
}

// The mean rate is (on + off * off_share) / (on + off) of the rate while on.
double MeanGapWhileOnNs(double per_second, const OnOff& on_off) {
  const double on = Nanos(on_off.mean_on);
  const double off = Nanos(on_off.mean_off);
  return 1e9 / per_second * (on + off * on_off.off_share) / (on + off);
}

double MeanGapWhileOffNs(double per_second, const OnOff& on_off) {
  return on_off.off_share > 0
             ? MeanGapWhileOnNs(per_second, on_off) / on_off.off_share
             : std::numeric_limits<double>::infinity();
}

}  // namespace

OnOffArrivals::OnOffArrivals(double per_second, const OnOff& on_off,
                             uint64_t seed)
    : states_{State{MeanGapWhileOnNs(per_second, on_off),
                    Nanos(on_off.mean_on)},
              State{MeanGapWhileOffNs(per_second, on_off),
                    Nanos(on_off.mean_off)}},
      random_(seed) {
  Check(per_second > 0, "an arrival rate is positive");
  Check(on_off.mean_on > Duration(0) && on_off.mean_off > Duration(0),
        "each state lasts");
  Check(on_off.off_share >= 0 && on_off.off_share <= 1, "a share is a share");
  const double stays = states_[0].mean_stay_ns + states_[1].mean_stay_ns;
  Enter(random_.Uniform() * stays <= states_[0].mean_stay_ns ? 0 : 1);
}

void OnOffArrivals::Enter(size_t state) {
  state_ = state;
  left_ns_ = random_.Exponential() * states_[state].mean_stay_ns;
}

double OnOffArrivals::DrawGapNs() {
  double passed_ns = 0;
  while (true) {
    const double arrival_ns =
        random_.Exponential() * states_[state_].mean_gap_ns;
    if (arrival_ns < left_ns_) {
      left_ns_ -= arrival_ns;
      return passed_ns + arrival_ns;
    }
    passed_ns += left_ns_;
    Enter(1 - state_);
  }
}

}  // namespace ferry::bench

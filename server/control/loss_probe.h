// LossProbe asks a device from time to time whether it is lost, and waits for
// no answer: a driver may keep the call for long, as while it loads kernels for
// a model, and for ever where it hangs.
//
// A call that hangs is no loss by itself: batches that wait for the driver hang
// too, and are found as such (server/control/backend_watch.h). It is logged
// after kLong, once, and so is its return.
//
// Thread safety: one thread calls; the device is asked on another.
#ifndef FERRY_SERVER_CONTROL_LOSS_PROBE_H_
#define FERRY_SERVER_CONTROL_LOSS_PROBE_H_

#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include "base/background_call.h"
#include "base/clock.h"

namespace ferry {

class LossProbe {
 public:
  static constexpr Duration kLong = std::chrono::seconds(10);

  // `is_lost` asks the device, and owns what it uses. The clock outlives it.
  explicit LossProbe(std::function<bool()> is_lost,
                     const Clock& clock = Clock::Steady())
      : call_("ferry-probe", std::move(is_lost), clock) {}

  // Returns the last answer there is, and asks anew: with a look every half
  // second a loss is known within about one. Not lost before the first answer.
  bool Look();

  // Whether the device answers, lost or not, within so long.
  bool Answers(Duration at_most) { return call_.AskFor(at_most).has_value(); }

 private:
  BackgroundCall<bool> call_;
  std::optional<Duration> told_;  // how long a call has hung that was logged
};

}  // namespace ferry

#endif  // FERRY_SERVER_CONTROL_LOSS_PROBE_H_

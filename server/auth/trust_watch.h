// TrustWatch has certificates and tokens read again where they change, on a
// thread of its own, as their folder may stall: then those before stay in
// force, and the log is told.
//
// Thread safety: thread-compatible.
#ifndef FERRY_SERVER_AUTH_TRUST_WATCH_H_
#define FERRY_SERVER_AUTH_TRUST_WATCH_H_

#include <chrono>
#include <functional>

#include "base/background_call.h"
#include "base/clock.h"

namespace ferry {

class TrustWatch {
 public:
  // A folder that takes longer to answer stalls.
  static constexpr Duration kStalls = std::chrono::seconds(5);

  // `read` reads what has changed, and owns all that it uses: where it does not
  // return, it outlives the watch.
  explicit TrustWatch(std::function<void()> read,
                      const Clock& clock = Clock::Steady());

  // Begins to read, unless that is under way; waits for no file.
  void Look();

  // At the last look.
  bool is_stalled() const { return is_stalled_; }

 private:
  BackgroundCall<bool> read_;
  bool is_stalled_ = false;
};

}  // namespace ferry

#endif  // FERRY_SERVER_AUTH_TRUST_WATCH_H_

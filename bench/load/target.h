// Target takes the calls of a load: a server over gRPC, or a fake of the tests.
#ifndef FERRY_BENCH_LOAD_TARGET_H_
#define FERRY_BENCH_LOAD_TARGET_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"

namespace ferry::bench {

class Target {
 public:
  class Caller {
   public:
    // The call ended. Called exactly once for each Send(), from any thread,
    // never from within Send(). May call Send() for another call.
    virtual void Ended(absl::StatusCode code) = 0;

   protected:
    ~Caller() = default;
  };

  // Waits until no call is under way.
  virtual ~Target() = default;

  // Sends one request and returns at once. `number` chooses the request;
  // `caller` lives until Ended(). Any thread.
  virtual void Send(uint64_t number, Caller& caller) = 0;

  // The classes that requests are of, and which one that request is of, below
  // class_count(). Constant; any thread.
  virtual size_t class_count() const { return 1; }
  virtual size_t ClassOf(uint64_t /*number*/) const { return 0; }

  // Makes every call that is under way end soon, with CANCELLED if it has not
  // ended otherwise. Any thread.
  virtual void CancelAll() = 0;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_LOAD_TARGET_H_

// SoakLedger keeps account of every request of a soak by its number: sent,
// answered, how, and never twice.
//
// Thread safety: thread-safe.
#ifndef FERRY_BENCH_SOAK_SOAK_LEDGER_H_
#define FERRY_BENCH_SOAK_SOAK_LEDGER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/mutex.h"

namespace ferry::bench {

// What a reply carried, where it was a success.
enum class ReplyCheck {
  kNotChecked,
  kRight,
  kWrongId,    // another request's id
  kWrongRows,  // closer to another request's rows than to its own
  kMalformed,
};

struct SoakAccount {
  uint64_t sent = 0;
  uint64_t answered = 0;  // requests answered at least once
  uint64_t answered_twice = 0;
  uint64_t never_sent = 0;  // answers to numbers that were not sent
  uint64_t wrong_id = 0;
  uint64_t wrong_rows = 0;
  uint64_t malformed = 0;
  std::map<std::string, uint64_t> by_code;

  uint64_t sum_by_code() const;
  // sent = answered = sum by code, none twice, none with another's answer.
  bool balances() const;
};

class SoakLedger {
 public:
  // Numbers are given out by the ledger, from 0.
  uint64_t Send();
  void Answer(uint64_t number, absl::StatusCode code, ReplyCheck check);

  SoakAccount account() const;

 private:
  mutable Mutex mutex_;
  std::vector<uint8_t> answers_ ABSL_GUARDED_BY(mutex_);  // by number
  SoakAccount account_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_SOAK_SOAK_LEDGER_H_

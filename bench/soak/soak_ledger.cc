// Implements SoakLedger: one byte for each request.
#include "bench/soak/soak_ledger.h"

#include <limits>

namespace ferry::bench {

uint64_t SoakAccount::sum_by_code() const {
  uint64_t sum = 0;
  for (const auto& [code, count] : by_code) {
    sum += count;
  }
  return sum;
}

bool SoakAccount::balances() const {
  return sent == answered && answered == sum_by_code() && answered_twice == 0 &&
         never_sent == 0 && wrong_id == 0 && wrong_rows == 0 && malformed == 0;
}

uint64_t SoakLedger::Send() {
  MutexLock lock(mutex_);
  answers_.push_back(0);
  ++account_.sent;
  return answers_.size() - 1;
}

void SoakLedger::Answer(uint64_t number, absl::StatusCode code,
                        ReplyCheck check) {
  MutexLock lock(mutex_);
  ++account_.by_code[absl::StatusCodeToString(code)];
  if (number >= answers_.size()) {
    ++account_.never_sent;
    return;
  }
  uint8_t& answers = answers_[number];
  account_.answered += answers == 0 ? 1 : 0;
  account_.answered_twice += answers == 1 ? 1 : 0;
  if (answers < std::numeric_limits<uint8_t>::max()) {
    ++answers;
  }
  account_.wrong_id += check == ReplyCheck::kWrongId ? 1 : 0;
  account_.wrong_rows += check == ReplyCheck::kWrongRows ? 1 : 0;
  account_.malformed += check == ReplyCheck::kMalformed ? 1 : 0;
}

SoakAccount SoakLedger::account() const {
  MutexLock lock(mutex_);
  return account_;
}

}  // namespace ferry::bench

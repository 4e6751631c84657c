// Implements JoinOrder: levels first get what they are owed, then by urgency.
#include "batcher/batch_plan.h"

namespace ferry {

JoinOrder::JoinOrder(const ShapeGroup& group, const LevelShares& shares)
    : shares_(shares) {
  for (int32_t level = 0; level < shares.levels(); ++level) {
    const auto i = static_cast<size_t>(level);
    next_[i] = group.levels()[i].oldest;
    takes_owed_ =
        takes_owed_ || (next_[i] != nullptr && shares.Owed(level) > 0);
  }
  level_ = 0;
  owed_ = shares.Owed(0);
  FindLevel();
}

void JoinOrder::Pop() {
  InferRequest*& next = next_[static_cast<size_t>(level_)];
  owed_ -= next->rows;
  next = next->newer;
  FindLevel();
}

// Moves on to the level whose turn it is, or stays at the last, which is empty.
void JoinOrder::FindLevel() {
  for (;;) {
    const InferRequest* const next = next_[static_cast<size_t>(level_)];
    const bool may_be_larger =
        shares_.HasSavedUp(level_) && owed_ == shares_.Owed(level_);
    if (next != nullptr &&
        (!takes_owed_ || next->rows <= owed_ || may_be_larger)) {
      return;
    }
    if (level_ + 1 < shares_.levels()) {
      ++level_;
      owed_ = shares_.Owed(level_);
    } else if (takes_owed_) {
      takes_owed_ = false;
      level_ = 0;
    } else {
      return;
    }
  }
}

}  // namespace ferry

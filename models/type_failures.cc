// Implements TypeFailures, and knows LibTorch's words.
#include "models/type_failures.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"

namespace ferry {
namespace {

constexpr absl::string_view kWords[] = {
    "BFloat16",
    "'Half'",
    "'Double'",
    "dtype",
    "scalar type",
    "another type",
    "forward propagation primitive",
};

}  // namespace

bool IsOfTypes(absl::string_view failure) {
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](absl::string_view words) {
                       return absl::StrContains(failure, words);
                     });
}

void TypeFailures::Note(const Batch& batch, absl::string_view why,
                        TimePoint now) {
  if (!IsOfTypes(why)) {
    return;
  }
  MutexLock lock(mutex_);
  const size_t requests = batch.entries().size();
  if (kept_.has_value()) {  // the runs of its halves leave the smallest
    if (requests >= kept_->batch->batch().entries().size()) {
      return;
    }
  } else if (now < next_) {
    return;
  } else {
    next_ = now + between_;
    between_ = std::min(2 * between_, kMostBetween);
  }
  kept_ = {.why = std::string(why),
           .batch = std::make_shared<const KeptBatch>(batch)};
}

std::optional<TypeFailures::Failure> TypeFailures::Take() {
  MutexLock lock(mutex_);
  return std::exchange(kept_, std::nullopt);
}

}  // namespace ferry

// The end of a request, and of one that was split.
#include "batcher/infer_request.h"

#include <utility>

#include "batcher/split_request.h"

namespace ferry {

std::optional<Ending> InferRequest::EndingOf(const Ending& ending) {
  return part_of == nullptr ? ending : part_of->Join(*this, ending);
}

bool InferRequest::IsOfNoUse() const {
  return part_of != nullptr && part_of->has_failed();
}

void InferRequest::Release() {
  if (part_of != nullptr) {
    part_of->PartReleased();
    return;
  }
  delete std::exchange(split, nullptr);
  completion->Released();
}

}  // namespace ferry

// Implements InferRequest::IsCancelled(): a part is cancelled with its whole.
#include "batcher/infer_request.h"

#include "batcher/split_request.h"

namespace ferry {

bool InferRequest::IsCancelled() const {
  return part_of == nullptr ? cancelled.load(std::memory_order_seq_cst)
                            : part_of->IsOfNoUse();
}

}  // namespace ferry

// A part is of use as long as its whole is.
#include "batcher/infer_request.h"

#include "batcher/split_request.h"

namespace ferry {

bool InferRequest::IsCancelled() const {
  return part_of == nullptr ? cancelled.load(std::memory_order_seq_cst)
                            : part_of->IsOfNoUse();
}

}  // namespace ferry

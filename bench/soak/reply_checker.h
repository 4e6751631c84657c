// ReplyChecker tells whether a reply carries the rows of its own request.
//
// Each prepared request is answered once before the load, alone. Under load a
// bf16 model may sum in another order in another batch, so a reply is held
// against its own reference and against another request's: it must be much
// closer to its own. Rows that a server mixed up are not.
//
// Thread safety: const after construction, then thread-safe.
#ifndef FERRY_BENCH_SOAK_REPLY_CHECKER_H_
#define FERRY_BENCH_SOAK_REPLY_CHECKER_H_

#include <cstddef>
#include <string>
#include <vector>

#include "bench/soak/soak_ledger.h"
#include "proto/inference.pb.h"

namespace ferry::bench {

class ReplyChecker {
 public:
  // `references` are the replies to each prepared request, by index.
  explicit ReplyChecker(std::vector<inference::ModelInferResponse> references);

  ReplyCheck Check(size_t index, const std::string& id,
                   const inference::ModelInferResponse& reply) const;

 private:
  bool HasShapeOf(const inference::ModelInferResponse& reply,
                  const inference::ModelInferResponse& reference) const;

  const std::vector<inference::ModelInferResponse> references_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_SOAK_REPLY_CHECKER_H_

// StampLog writes when each measured request was planned, sent and ended, as
// CSV, for counting it again.
//
//   point,class,planned_ns,sent_ns,ended_ns,code
//
// Times count from the begin of the point's measured window; `point` from 0, on
// over all runs of a command.
//
// Thread safety: thread-compatible.
// Errors: UNAVAILABLE where the file cannot be written.
#ifndef FERRY_BENCH_LOAD_STAMP_LOG_H_
#define FERRY_BENCH_LOAD_STAMP_LOG_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/replaced_file.h"
#include "bench/load/load_result.h"

namespace ferry::bench {

class StampLog {
 public:
  static absl::StatusOr<std::unique_ptr<StampLog>> Create(
      const std::string& path);

  // Writes the stamps of the next point.
  void Add(const LoadResult& load);

  // Puts the file in place of the one that was there (ReplacedFile). Without
  // it there is none. REQUIRES: not called before.
  absl::Status Close();

 private:
  explicit StampLog(std::unique_ptr<ReplacedFile> file);

  const std::unique_ptr<ReplacedFile> file_;
  int points_ = 0;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_LOAD_STAMP_LOG_H_

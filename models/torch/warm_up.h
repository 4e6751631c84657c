// WarmUp runs batches of a TorchModel before it serves: of the config's samples
// or, where it has none, of the first rows that the model takes: of zeros, ones
// or small numbers.
//
// The batch of the options that must run is the first.
//
// Such rows of an input whose sizes vary have a synthetic size: the first of
// some with which the model runs. Inputs that are padded run in each of their
// sizes. What no size and no value can explain is an error: other outputs,
// their types or ranks, rows that are not those of the batch. Where the model
// throws with each size, it may still take what clients send: failure() says
// so.
//
// Thread safety: thread-compatible; used on one thread.
#ifndef FERRY_MODELS_TORCH_WARM_UP_H_
#define FERRY_MODELS_TORCH_WARM_UP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "batcher/batch.h"
#include "batcher/service_time.h"
#include "models/config/model_options.h"
#include "models/row_requests.h"
#include "models/synthetic_row.h"

namespace ferry {

// Which integers rows may have that are made up: an index that is out of range
// throws on a processor, and is the end of a device.
enum class MadeUpIntegers : uint8_t { kAny, kZeros };

class WarmUp {
 public:
  // Stages and computes a batch. INTERNAL where the forward throws,
  // OUT_OF_RANGE where an output differs in a size only, else INVALID_ARGUMENT.
  using RunBatch = absl::FunctionRef<absl::Status(const Batch&)>;

  // `runs`: of each batch size. Both outlive it.
  WarmUp(const ModelOptions& options, int runs, MadeUpIntegers integers,
         RunBatch run_batch);

  // Runs each bucket, and without buckets every size as far as 2 s go for those
  // that are no power of two, of the first sample; of each sample its own size
  // as often as it says; of sizes that are padded to each bucket, or one row
  // and as many as there may be. INVALID_ARGUMENT where the outputs are not
  // those of the spec; INTERNAL where the forward throws.
  absl::Status Run();

  // How long the last run of each size took, of the first sample.
  std::vector<ServiceTimeSample>& times() { return times_; }
  // Why nothing ran, where that is no error; else empty.
  const std::string& failure() const { return failure_; }

 private:
  std::vector<int32_t> Sizes() const;
  // The batch size that is run for that many rows.
  int32_t SizeFor(int32_t rows) const;
  absl::Status RunSizes(const std::vector<RowInput>& row);
  // `took`: by the last run.
  absl::Status RunSize(const std::vector<RowInput>& row, int32_t rows, int runs,
                       Duration& took);
  // Finds values that the model takes, and a row of them.
  absl::Status FindRow(std::vector<RowInput>& row);
  // Finds sizes with which it takes values_.
  absl::Status FindSize(std::vector<RowInput>& row);
  // Runs the row with values_ of each size that inputs are padded to, those of
  // one size together.
  absl::Status RunPads(const std::vector<RowInput>& row);
  absl::Status RunPad(std::vector<RowInput> row, size_t input, int64_t size);

  const ModelOptions& options_;
  const int runs_;
  const MadeUpIntegers integers_;
  const RunBatch run_batch_;
  SyntheticValues values_ = kZeroValues;  // of rows that are made up
  std::vector<ServiceTimeSample> times_;
  std::string failure_;
};

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_WARM_UP_H_

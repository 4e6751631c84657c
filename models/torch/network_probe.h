// NetworkProbe runs rows through a network before it serves, keeps what it
// gives, and tells how far another network is from that, or a row alone from
// the same row in a batch.
//
// Rows are the samples of `model_warmup`, else synthetic: no two alike, floats
// from -1 to 1 and from 0 to 1, integers below 100, or below 5 or 2 where the
// network throws, or zeros, as always on a device, which an index out of range
// ends. Sizes that vary are the first of some that it takes, and then larger
// ones. A batch is padded to its bucket, as it will be. As many batches run as
// half a second is enough for, and one at least.
//
// Thread safety: thread-compatible.
#ifndef FERRY_MODELS_TORCH_NETWORK_PROBE_H_
#define FERRY_MODELS_TORCH_NETWORK_PROBE_H_

#include <c10/core/Device.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "models/config/model_options.h"
#include "models/row_requests.h"
#include "models/synthetic_row.h"
#include "models/torch/network.h"

namespace ferry {

// How far outputs are from those expected: the largest difference of floats as
// a share of the largest value, infinite where one is no number and the other
// is; of integers, bools and strings the share that differs.
struct ProbeError {
  double share = 0;
  size_t output = 0;  // of the spec: in which it is
};

class NetworkProbe {
 public:
  // kOneBatch: to see whether it runs, and how rows come out alone.
  enum class Extent : uint8_t { kOneBatch, kAll };

  // `spec` and samples are those of `options`, which outlive it.
  NetworkProbe(const ModelOptions& options, at::Device device);

  // Runs `network`, which takes floats in that precision.
  void Run(Network& network, Precision precision, Extent extent);

  // Whether some batch ran.
  bool has_run() const { return !batches_.empty(); }
  // Why none did.
  const std::string& failure() const { return failure_; }

  // Runs the same batches through `other`. INTERNAL where it fails with one.
  absl::StatusOr<ProbeError> Compare(Network& other, Precision precision) const;

  // Returns the name of an output in which rows of one batch, run again each
  // alone through the network of Run(), are not what they were together; empty
  // where there is none, nothing to see it by, or the same batch comes out
  // otherwise each time. `tolerance`: as of a ProbeError.
  std::string MixedOutput(Network& network, Precision precision,
                          double tolerance) const;

 private:
  using Row = std::vector<RowInput>;

  struct ProbeBatch {
    std::vector<Row> rows;
    Values outputs;  // in the host's memory
    bool is_compared = true;
  };

  // Rows that are made up.
  struct Synthetic {
    SyntheticValues values;
    int64_t size = 1;  // of each dimension that varies
  };

  void RunSamples(Network& network, const ModelOptions& staged, Extent extent);
  void RunSynthetic(Network& network, const ModelOptions& staged,
                    Extent extent);
  // Runs the first rows that the network takes.
  std::optional<Synthetic> FindSynthetic(Network& network,
                                         const ModelOptions& staged);
  std::vector<Synthetic> SyntheticRows() const;
  // Runs the rows, and keeps what they give.
  absl::Status Try(Network& network, const ModelOptions& staged,
                   std::vector<Row> rows);
  std::vector<Row> DrawRows(int64_t any_size, const SyntheticValues& values,
                            int64_t count);
  // Whether the time is enough for that many elements, by what ran last.
  bool HasTimeFor(int64_t elements) const;
  // Rows of a batch that is run to see whether it runs.
  int64_t few_rows() const { return std::min<int64_t>(2, most_rows_); }
  absl::Status Forward(Network& network, const ModelOptions& staged,
                       const std::vector<Row>& rows, Values& outputs) const;
  ModelOptions StagedIn(Precision precision) const;

  const ModelOptions& options_;
  const at::Device device_;
  const int64_t most_rows_;
  std::mt19937 random_;
  TimePoint end_;
  std::vector<ProbeBatch> batches_;
  Duration took_{0};      // of the batch that ran last
  int64_t elements_ = 0;  // of its inputs
  std::string failure_;
};

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_NETWORK_PROBE_H_

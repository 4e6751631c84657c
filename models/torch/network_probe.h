// NetworkProbe runs rows through a network before it serves, keeps what it
// gives, and tells how far another network is from that, or a row alone from
// the same row beside another.
//
// Rows are the samples of `model_warmup`, with floats that no file brings drawn
// anew, else synthetic: floats from -1 to 1, then from 0 to 1, then to 1,000 in
// inputs of one number a row, which is a time or a count more often than not;
// integers below 100 and then below 1,000, or below 5 or 2 where the network
// throws, or zeros. Sizes
// that vary are the first of some that it takes, and then up to 384, past 256,
// to which bf16 counts. On a device, which an index out of range ends, floats
// are from 0 to 0.98, integers zeros, and sizes those found.
//
// Thread safety: thread-compatible.
#ifndef FERRY_MODELS_TORCH_NETWORK_PROBE_H_
#define FERRY_MODELS_TORCH_NETWORK_PROBE_H_

#include <c10/core/Device.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "models/config/model_options.h"
#include "models/row_requests.h"
#include "models/synthetic_row.h"
#include "models/torch/network.h"

namespace ferry {

// How far outputs are from those expected: the largest difference of floats as
// a share of the largest value of rows of one kind, infinite where one is no
// number and the other is; of integers, bools and strings the share that
// differs.
struct ProbeError {
  double share = 0;
  size_t output = 0;  // of the spec: in which it is
};

struct RowsFound {
  // In which a row alone is not what it is beside others; empty: in none.
  std::string mixed_output = {};
  // Why rows may depend on each other all the same; empty: all that each gives
  // was compared, and is alike.
  std::string why_unsure = {};
  bool integers_differ = false;  // it is that integers do for a row alone
  // Why not in a full batch, and its size; empty: there, too.
  std::string why_not_full = {};
};

class NetworkProbe {
 public:
  // `spec` and samples are those of `options`, which outlive it.
  NetworkProbe(const ModelOptions& options, at::Device device,
               const Clock& clock = Clock::Steady());

  // Runs the first rows that `network` takes, which takes floats in that
  // precision.
  void Find(Network& network, Precision precision);

  // Runs rows of large sizes as far as 2.5 s are enough for each, then more
  // rows for half a second. REQUIRES: has_run().
  void RunMore(Network& network, Precision precision);

  bool has_run() const { return !batches_.empty(); }
  // Why Find() found none.
  const std::string& failure() const { return failure_; }
  // The largest that ran of sizes that vary; 0 where none does.
  int64_t largest_size() const;
  // Whether 384 was not tried of sizes that vary, and none as large ran.
  bool leaves_out_sizes() const;

  // Runs the same batches through `other`, which may be on another device. One
  // for which that has no memory is run in halves, where rows are `independent`
  // and each has outputs. INTERNAL where it fails with one; RESOURCE_EXHAUSTED
  // where there is no memory for what is not halved.
  absl::StatusOr<ProbeError> Compare(Network& other, Precision precision,
                                     at::Device device, bool independent) const;

  // Compares rows alone with what they are in a batch of a few, and in a full
  // one, or as many as half a second is enough for and four at least, that has
  // equal rows.
  // FAILED_PRECONDITION, or as forward() fails, where nothing shows it.
  absl::StatusOr<RowsFound> CompareRows(Network& network, Precision precision);

 private:
  using Row = std::vector<RowInput>;

  // A row that others are drawn from.
  struct Base {
    Row row;
    std::vector<bool> is_drawn;  // [input]: anew in each row
    int32_t integer_end = 1;

    bool draws() const {
      return std::find(is_drawn.begin(), is_drawn.end(), true) !=
             is_drawn.end();
    }
  };

  struct ProbeBatch {
    std::vector<Row> rows;
    Values outputs;   // in the host's memory
    size_t kind = 0;  // of kinds_, by which values are of one scale
  };

  struct RowAlone {
    Row row;
    Values outputs;
  };

  void FindSamples(Network& network, const ModelOptions& staged);
  void FindSynthetic(Network& network, const ModelOptions& staged);
  // Runs the base's row and others, and keeps the base where it is taken.
  absl::Status TryBase(Network& network, const ModelOptions& staged, Base base,
                       const SyntheticValues& values);
  // Runs the rows, and keeps what they give.
  absl::Status Try(Network& network, const ModelOptions& staged,
                   std::vector<Row> rows, size_t kind);
  absl::Status Forward(Network& network, at::Device device,
                       const ModelOptions& staged, const std::vector<Row>& rows,
                       Values& outputs) const;

  // Adds the halves of a batch; false where it has none.
  static bool AddHalves(const ProbeBatch& batch,
                        std::vector<ProbeBatch>& halves);

  // Compares them with the same rows in that batch.
  absl::StatusOr<RowsFound> CompareWith(const std::vector<RowAlone>& alone,
                                        const std::vector<Row>& rows,
                                        Network& network,
                                        Precision precision) const;

  // Odd numbers have smaller values: rows of one size would hide what depends
  // on the largest of a batch.
  Row Draw(const Base& base, const SyntheticValues& values, int64_t number);
  // Repeats the elements of `row` where sizes vary.
  Row Stretched(const Row& row, int64_t size);
  void RunLarge(Network& network, const ModelOptions& staged);
  void RunRows(Network& network, const ModelOptions& staged, const Base& base,
               size_t kind);
  // Runs a row drawn from `base` with that size where sizes vary.
  void RunStretched(Network& network, const ModelOptions& staged,
                    const Base& base, int64_t size);
  // Whether that many elements take less, by what ran last.
  bool HasTimeFor(int64_t elements, Duration budget) const;
  ModelOptions StagedIn(Precision precision) const;

  const ModelOptions& options_;
  const at::Device device_;
  const Clock& clock_;
  const int64_t most_rows_;
  const bool sizes_vary_;
  // What values are drawn from, one after the other.
  const std::vector<SyntheticValues> kinds_;
  std::mt19937 random_;
  TimePoint begin_;
  std::vector<Base> bases_;
  std::vector<ProbeBatch> batches_;
  Duration took_{0};      // of the batch that ran last
  int64_t elements_ = 1;  // of its inputs or its outputs, which are more
  int64_t kept_ = 0;      // elements of all batches
  double growth_ = 2;     // of time, as a power of that of elements
  bool has_tried_large_ = false;
  std::string failure_;
};

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_NETWORK_PROBE_H_

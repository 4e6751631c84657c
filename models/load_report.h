// LoadReport says what loading a model on LibTorch has found out about it.
//
// Thread safety: plain values.
#ifndef FERRY_MODELS_LOAD_REPORT_H_
#define FERRY_MODELS_LOAD_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>

namespace ferry {

struct LoadReport {
  // The largest error of bf16 against fp32, as a share of the largest value of
  // the output, whose name is `output`; none where they were not compared.
  std::optional<double> max_error;
  std::string output = {};
  // The largest that was compared of sizes that vary; 0 where none does.
  int64_t largest_size = 0;
  // Whether larger sizes may run, and were not compared.
  bool leaves_out_sizes = false;
  // Why a model in bf16 was not compared; else empty.
  std::string why_not_compared = {};
  // What bf16 does other than fp32, where it is not to be served for that; else
  // empty. fp32 runs then.
  std::string why_not_bf16 = {};
  // The output in which a row depends on the rows beside it, which has changed
  // how the model is batched; empty: none is known.
  std::string mixed_output = {};
  // Whether rows were compared alone and together, and came out alike; else why
  // they may depend on each other.
  bool has_independent_rows = false;
  std::string why_not_independent = {};
  // Why they may, though they may share a batch with those of other requests;
  // else empty.
  std::string why_rows_unsure = {};
  // Why rows could not be looked at for that, though they may share a batch;
  // else empty.
  std::string why_rows_unknown = {};
  // The rows of a full batch, which failed, and why: rows were looked at in one
  // of a few alone. Else empty.
  std::string why_no_full_batch = {};
};

}  // namespace ferry

#endif  // FERRY_MODELS_LOAD_REPORT_H_

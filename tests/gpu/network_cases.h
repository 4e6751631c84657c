// NetworkCase describes a built-in network as tests hold it in bf16 against
// fp32: batches of rows that all differ, and how far a row may be off.
//
// Thread safety: DifferentRows is thread-compatible.
#ifndef FERRY_TESTS_GPU_NETWORK_CASES_H_
#define FERRY_TESTS_GPU_NETWORK_CASES_H_

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "batcher/batch.h"
#include "batcher/infer_request.h"
#include "models/config/model_options.h"
#include "models/torch/torch_entry.h"
#include "tensor/output_buffer.h"
#include "tests/models/torch/network_options.h"

namespace ferry {

struct NetworkCase {
  const char* network;
  // Bounds bf16 against fp32, each row: |difference| / |reference|, lengths of
  // vectors. The processor's bf16 is off by 0.006 (mlp) and 0.004 (the others);
  // a device that rounds to bf16 where the processor's kernels do not may be
  // off by some times that. Rows are apart by 0.15 and more.
  double tolerance;
  int matrix_products;       // of a forward: linear layers, convolutions
  int fp32_matrix_products;  // more, that are of fp32 on purpose
};

inline constexpr NetworkCase kNetworkCases[] = {
    {"mlp", 0.02, 2, 0},
    {"resnet50", 0.02, 54, 0},
    {"encoder", 0.02, 24, 1},  // it sums up tokens in fp32
};

inline constexpr int32_t kMostRows = 8;

inline ModelOptions OptionsOf(const std::string& network, Precision precision) {
  ModelOptions options = NetworkOptions(network, {256, 512, 10});
  options.precision = precision;
  options.spec.max_batch_size = kMostRows;
  options.buckets = {1, 2, 4, 8};
  return options;
}

// A closed batch of requests of one row, drawn from a seed: floats of another
// size in each, token ids of any word, masks of another length.
class DifferentRows {
 public:
  DifferentRows(const ModelSpec& spec, int32_t rows, uint32_t seed)
      : batch_(std::make_unique<Batch>(rows, rows)) {
    std::mt19937 random(seed);
    for (int32_t row = 0; row < rows; ++row) {
      Row& one = *rows_.emplace_back(std::make_unique<Row>());
      for (const TensorSpec& input : spec.inputs) {
        one.values.push_back(Draw(input, row, random));
      }
      for (size_t i = 0; i < spec.inputs.size(); ++i) {
        one.segments.push_back(
            {static_cast<const std::byte*>(one.values[i].const_data_ptr()),
             one.values[i].nbytes()});
        one.request.bytes += one.values[i].nbytes();
      }
      for (size_t i = 0; i < spec.inputs.size(); ++i) {
        one.views.push_back(
            {.dims = spec.inputs[i].dims, .segments = {&one.segments[i], 1}});
      }
      one.request.inputs = one.views;
      batch_->Add(one.request);
    }
    batch_->Close(Clock::Steady().Now(), CloseReason::kFull,
                  /*sequence=*/0);
  }

  const Batch& batch() const { return *batch_; }

 private:
  struct Row {
    std::vector<at::Tensor> values;
    std::vector<ferry::ByteSegment> segments;
    std::vector<TensorView> views;
    InferRequest request;
  };

  static at::Tensor Draw(const TensorSpec& input, int32_t row,
                         std::mt19937& random) {
    if (input.type != DataType::kInt64) {
      const at::Tensor values = at::empty(input.dims, at::kFloat);
      // A size and a mean of its own, as those of a picture: of noise alone a
      // mean over an image makes the same.
      std::normal_distribution<float> normal(
          static_cast<float>(row % 3 - 1),
          0.5F + 0.5F * static_cast<float>(row % 4));
      auto* const data = values.data_ptr<float>();
      for (int64_t i = 0; i < values.numel(); ++i) {
        data[i] = normal(random);
      }
      return values;
    }
    const at::Tensor values = at::ones(input.dims, at::kLong);
    const int64_t count = values.numel();
    if (input.name.find("mask") != std::string::npos) {
      values.narrow(0, count - row % count, row % count).zero_();
      return values;
    }
    std::uniform_int_distribution<int64_t> ids(0, 30'521);
    auto* const data = values.data_ptr<int64_t>();
    for (int64_t i = 0; i < count; ++i) {
      data[i] = ids(random);
    }
    return values;
  }

  std::vector<std::unique_ptr<Row>> rows_;
  std::unique_ptr<Batch> batch_;
};

// The first output, [rows, ...] in fp32.
inline at::Tensor TensorOf(const OutputRef& output, int32_t rows) {
  const ferry::ByteSegment all = output->tensors()[0].Rows(0, rows);
  const at::Tensor values =
      at::empty({rows, static_cast<int64_t>(all.size / sizeof(float)) / rows});
  std::memcpy(values.data_ptr(), all.data, all.size);
  return values;
}

// What the processor makes of the batch; `path`: of a model that is a file.
inline at::Tensor RunOnProcessor(const ModelOptions& options,
                                 const Batch& batch,
                                 const std::string& path = "") {
  CpuModelsOrStatus copies = absl::InternalError("not loaded");
  LoadReport report;
  FerryLoadTorchModels(options, path, report, copies);
  TORCH_CHECK(copies.ok(), std::string(copies.status().message()));
  CpuModel& model = *copies->front();
  OutputRef output;
  TORCH_CHECK(model.Gather(batch).ok() && model.Compute(batch, output).ok());
  return TensorOf(output, batch.rows());
}

// |difference| / |reference| of the row that is farthest off. NaN is no
// number that is smaller than a tolerance.
inline double LargestError(const at::Tensor& found,
                           const at::Tensor& reference) {
  const at::Tensor errors =
      (found - reference).norm(2, 1) / reference.norm(2, 1);
  return errors.max().item<double>();
}

// |difference| / |one of them| of the two rows that are most alike.
inline double SmallestDifference(const at::Tensor& rows) {
  double smallest = 1e9;
  for (int64_t i = 0; i < rows.size(0); ++i) {
    for (int64_t j = 0; j < rows.size(0); ++j) {
      if (i != j) {
        smallest = std::min(
            smallest,
            ((rows[i] - rows[j]).norm() / rows[i].norm()).item<double>());
      }
    }
  }
  return smallest;
}

}  // namespace ferry

#endif  // FERRY_TESTS_GPU_NETWORK_CASES_H_

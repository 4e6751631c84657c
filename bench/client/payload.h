// ReadPayload() reads a payload, real inputs of a model, from a file or folder.
//
// A payload is a list of samples. A sample has one row of each input of a model
// with a batch dimension; of one without, its whole inputs.
//
//   FILE.json     perf_analyzer's --input-data: {"data": [{"x": [1, 2]}, ..]},
//                 an input also {"content": [..], "shape": [..]}, {"b64": ".."}
//                 or content of that; streams of steps are joined. Source:
//                 triton-inference-server/perf_analyzer, docs/input_data.md
//   FOLDER        a file for each input, of its name: raw elements in
//                 row-major order, little-endian, of BYTES a text a line; or
//                 NAME.npy. Or a subfolder for each sample, in order of names
//
// Contents of several rows, as an array of 100 images, are as many samples.
//
// Thread safety: plain values; functions of them.
// Errors: INVALID_ARGUMENT, with the place, what was expected and what was
// found; NOT_FOUND where there is no such file.
#ifndef FERRY_BENCH_CLIENT_PAYLOAD_H_
#define FERRY_BENCH_CLIENT_PAYLOAD_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/inference.pb.h"
#include "tensor/data_type.h"

namespace ferry::bench {

// What a model takes.
struct InputSpec {
  std::string name;
  DataType type = DataType::kFp32;
  std::vector<int64_t> dims;  // of one row; -1: any
  bool has_rows = false;      // a batch dimension stands before them
  bool is_optional = false;   // samples may leave it out
};

struct SampleInput {
  std::vector<int64_t> dims;  // of one row, each known; empty of a scalar
  std::string bytes;          // as on the wire
};

// One payload has no more: an empty sample takes a few hundred bytes too.
inline constexpr size_t kMostSamples = size_t{1} << 22;

// By input; one that is left out is missing.
using Sample = std::map<std::string, SampleInput>;

// Contents of one input as a file has them, before they are split into rows.
struct InputContents {
  std::string bytes;                          // as on the wire
  std::optional<std::vector<int64_t>> shape;  // as given, with rows or without
};

// Returns the inputs of the model; `shapes` are those of --shape.
// INVALID_ARGUMENT for a datatype that the protocol lacks.
absl::StatusOr<std::vector<InputSpec>> InputSpecs(
    const inference::ModelMetadataResponse& metadata,
    const inference::ModelConfig& config,
    const std::map<std::string, std::vector<int64_t>>& shapes);

// Reads a file or a folder; at least one sample, kMostSamples and 4 GiB at
// most. `outputs`: names that a folder may have files of besides, for other
// tools.
absl::StatusOr<std::vector<Sample>> ReadPayload(
    const std::string& path, const std::vector<InputSpec>& inputs,
    const std::vector<std::string>& outputs);

// Appends the rows of `contents`, by input, as samples, up to kMostSamples in
// all. `where` is for messages.
absl::Status AppendSamples(const std::vector<InputSpec>& inputs,
                           const std::map<std::string, InputContents>& contents,
                           const std::string& where,
                           std::vector<Sample>& samples);

// The JSON form by itself. Lists and objects lie in each other 32 deep at most.
absl::StatusOr<std::vector<Sample>> ParseJsonPayload(
    const std::string& text, const std::string& name,
    const std::vector<InputSpec>& inputs);

// Returns what a NumPy file holds, as elements of `type`: of an equal type, or
// of BF16, which NumPy lacks, from FP32. Format: NumPy Enhancement Proposal 1.
absl::StatusOr<InputContents> ParseNpy(const std::string& text, DataType type);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_CLIENT_PAYLOAD_H_

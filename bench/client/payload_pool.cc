// Samples side by side.
#include "bench/client/payload_pool.h"

#include <numeric>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ferry::bench {
namespace {

constexpr size_t kMostBytes = size_t{1} << 30;

using Chosen = std::vector<size_t>;  // samples of one request

// In turn: request i takes the samples from i * rows on, round and round.
std::vector<Chosen> Choose(size_t samples, size_t rows,
                           const RequestPoolOptions& options) {
  std::vector<Chosen> chosen;
  if (options.draws_samples) {
    std::mt19937_64 random(options.seed);
    chosen.resize(static_cast<size_t>(options.count));
    for (Chosen& request : chosen) {
      for (size_t row = 0; row < rows; ++row) {
        request.push_back(random() % samples);
      }
    }
    return chosen;
  }
  chosen.resize(samples / std::gcd(samples, rows));
  size_t next = 0;
  for (Chosen& request : chosen) {
    for (size_t row = 0; row < rows; ++row) {
      request.push_back(next++ % samples);
    }
  }
  return chosen;
}

absl::Status Differ(const InputSpec& input, size_t one, size_t other,
                    const std::string& of_one, const std::string& of_other) {
  return absl::InvalidArgumentError(absl::StrCat(
      "--data: input '", input.name,
      "': expected samples of one shape in a "
      "request, found ",
      of_one, " in sample ", one + 1, " and ", of_other, " in sample ",
      other + 1, "; --rows 1 sends each by itself"));
}

std::string ShapeOf(const Sample& sample, const std::string& input) {
  const auto found = sample.find(input);
  return found == sample.end()
             ? "none"
             : absl::StrCat("[", absl::StrJoin(found->second.dims, ","), "]");
}

absl::Status AddInput(const InputSpec& input,
                      const std::vector<Sample>& samples, const Chosen& chosen,
                      inference::ModelInferRequest& request) {
  const std::string shape = ShapeOf(samples[chosen.front()], input.name);
  std::string bytes;
  for (const size_t number : chosen) {
    const std::string its_shape = ShapeOf(samples[number], input.name);
    if (its_shape != shape) {
      return Differ(input, chosen.front(), number, shape, its_shape);
    }
    if (const auto found = samples[number].find(input.name);
        found != samples[number].end()) {
      bytes += found->second.bytes;
    }
    if (bytes.size() > kMostBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("input '", input.name, "' is larger than 1 GiB"));
    }
  }
  const auto first = samples[chosen.front()].find(input.name);
  if (first == samples[chosen.front()].end()) {
    return absl::OkStatus();  // optional, and left out
  }
  auto* const tensor = request.add_inputs();
  tensor->set_name(input.name);
  tensor->set_datatype(DataTypeName(input.type));
  if (input.has_rows) {
    tensor->add_shape(static_cast<int64_t>(chosen.size()));
  }
  for (const int64_t dim : first->second.dims) {
    tensor->add_shape(dim);
  }
  *request.add_raw_input_contents() = std::move(bytes);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<inference::ModelInferRequest>> PayloadRequests(
    const inference::ModelMetadataResponse& metadata,
    const std::vector<InputSpec>& inputs, const std::vector<Sample>& samples,
    const RequestPoolOptions& options) {
  const bool has_rows = !inputs.empty() && inputs.front().has_rows;
  const auto rows = static_cast<size_t>(has_rows ? options.rows : 1);
  std::vector<inference::ModelInferRequest> requests;
  for (const Chosen& chosen : Choose(samples.size(), rows, options)) {
    inference::ModelInferRequest& request = requests.emplace_back();
    request.set_model_name(metadata.name());
    for (const InputSpec& input : inputs) {
      if (auto status = AddInput(input, samples, chosen, request);
          !status.ok()) {
        return status;
      }
    }
  }
  return requests;
}

}  // namespace ferry::bench

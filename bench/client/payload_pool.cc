// Implements ForEachPayloadRequest(): puts samples side by side in requests.
#include "bench/client/payload_pool.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace ferry::bench {
namespace {

constexpr size_t kMostBytes = size_t{1} << 30;

using Chosen = std::vector<size_t>;  // samples of one request

// Which samples one request after the other is of. In turn: request i takes the
// samples from i * rows on, round and round.
class Choice {
 public:
  Choice(size_t samples, size_t rows, const RequestPoolOptions& options)
      : samples_(samples),
        rows_(rows),
        draws_(options.draws_samples),
        requests_(draws_ ? static_cast<size_t>(options.count)
                         : samples / std::gcd(samples, rows)),
        random_(options.seed) {}

  size_t requests() const { return requests_; }

  Chosen Next() {
    Chosen chosen(rows_);
    for (size_t& sample : chosen) {
      sample = (draws_ ? random_() : next_++) % samples_;
    }
    return chosen;
  }

 private:
  const size_t samples_;
  const size_t rows_;
  const bool draws_;
  const size_t requests_;
  std::mt19937_64 random_;
  uint64_t next_ = 0;
};

uint64_t BytesOf(const Sample& sample) {
  uint64_t bytes = 0;
  for (const auto& [name, input] : sample) {
    bytes += input.bytes.size();
  }
  return bytes;
}

double Mebibytes(double bytes) { return bytes / (1 << 20); }

// Checks requests in turn, before any is made.
absl::Status CheckTotal(const std::vector<Sample>& samples, size_t rows,
                        size_t requests, uint64_t most_bytes) {
  double bytes = 0;
  for (const Sample& sample : samples) {
    bytes += static_cast<double>(BytesOf(sample));
  }
  const double request =
      bytes / static_cast<double>(samples.size()) * static_cast<double>(rows);
  const double total = request * static_cast<double>(requests);
  const auto most = static_cast<double>(most_bytes);
  if (!(total > most)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "--data: expected requests of %.1f MiB in all at most, found %.1f MiB: "
      "%d requests of %d rows, which send each of %d samples equally often; "
      "--data-order random --requests %.0f draws about as many as fit",
      Mebibytes(most), Mebibytes(total), requests, rows, samples.size(),
      std::max(std::floor(most / request), 1.0)));
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

absl::Status ForEachPayloadRequest(
    const inference::ModelMetadataResponse& metadata,
    const std::vector<InputSpec>& inputs, const std::vector<Sample>& samples,
    const RequestPoolOptions& options,
    const std::function<void(inference::ModelInferRequest&)>& use) {
  const bool has_rows = !inputs.empty() && inputs.front().has_rows;
  const auto rows = static_cast<size_t>(has_rows ? options.rows : 1);
  Choice choice(samples.size(), rows, options);
  if (!options.draws_samples) {
    if (auto status =
            CheckTotal(samples, rows, choice.requests(), options.most_bytes);
        !status.ok()) {
      return status;
    }
  }
  uint64_t total = 0;
  for (size_t number = 0; number < choice.requests(); ++number) {
    const Chosen chosen = choice.Next();
    uint64_t size = 0;
    for (const size_t sample : chosen) {
      size += BytesOf(samples[sample]);
    }
    if (size > kMostBytes) {
      return absl::InvalidArgumentError(
          absl::StrFormat("--data: expected requests of 1024 MiB at most, "
                          "found %.1f MiB; fewer "
                          "--rows make them smaller",
                          Mebibytes(static_cast<double>(size))));
    }
    total += size;
    if (total > options.most_bytes) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "--data: expected requests of %.1f MiB in all at most, found more in "
          "%d of %d; fewer --requests fit",
          Mebibytes(static_cast<double>(options.most_bytes)), number + 1,
          choice.requests()));
    }
    inference::ModelInferRequest request;
    request.set_model_name(metadata.name());
    for (const InputSpec& input : inputs) {
      if (auto status = AddInput(input, samples, chosen, request);
          !status.ok()) {
        return status;
      }
    }
    use(request);
  }
  return absl::OkStatus();
}

}  // namespace ferry::bench

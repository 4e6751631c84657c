// Implements MakeRequestPool(): shapes from metadata and flags, bytes from
// random_tensor or a payload.
#include "bench/client/request_pool.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "bench/client/payload_pool.h"
#include "tensor/data_type.h"

namespace ferry::bench {
namespace {

using Tensor = inference::ModelMetadataResponse::TensorMetadata;

constexpr int64_t kMaxMessageBytes = int64_t{1} << 30;

// Returns the shape of one row of `input`, every size known.
absl::StatusOr<std::vector<int64_t>> RowShape(
    const Tensor& input, bool has_batch_dimension,
    const RequestPoolOptions& options) {
  std::vector<int64_t> dims(
      input.shape().begin() +
          (has_batch_dimension && input.shape_size() > 0 ? 1 : 0),
      input.shape().end());
  const auto given = options.shapes.find(input.name());
  if (given != options.shapes.end()) {
    bool fits = given->second.size() == dims.size();
    for (size_t i = 0; fits && i < dims.size(); ++i) {
      fits = dims[i] == -1 || dims[i] == given->second[i];
    }
    if (!fits) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape of input '", input.name(), "': expected [",
                       absl::StrJoin(dims, ","), "], got [",
                       absl::StrJoin(given->second, ","), "]"));
    }
    dims = given->second;
  }
  if (std::find(dims.begin(), dims.end(), -1) != dims.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input '", input.name(), "' has shape [", absl::StrJoin(dims, ","),
        "]: give --shape ", input.name(), ":<sizes>"));
  }
  return dims;
}

// Returns the product of the sizes; -1 where it is over the message limit.
int64_t ElementCount(const std::vector<int64_t>& dims, int64_t rows) {
  int64_t count = rows;
  for (const int64_t dim : dims) {
    if (dim != 0 && count > kMaxMessageBytes / dim) {
      return -1;
    }
    count *= dim;
  }
  return count;
}

absl::Status CheckNames(const inference::ModelMetadataResponse& metadata,
                        const RequestPoolOptions& options) {
  const auto is_input = [&](const std::string& name) {
    return std::any_of(metadata.inputs().begin(), metadata.inputs().end(),
                       [&](const Tensor& t) { return t.name() == name; });
  };
  for (const auto& [name, shape] : options.shapes) {
    if (!is_input(name)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--shape: model '", metadata.name(), "' has no input '", name, "'"));
    }
  }
  for (const auto& [name, range] : options.ranges) {
    if (!is_input(name)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--range: model '", metadata.name(), "' has no input '", name, "'"));
    }
  }
  return absl::OkStatus();
}

void AddParameters(const RequestPoolOptions& options,
                   inference::ModelInferRequest& request) {
  if (options.timeout_us > 0) {
    (*request.mutable_parameters())["timeout"].set_int64_param(
        options.timeout_us);
  }
  if (options.priority > 0) {
    (*request.mutable_parameters())["priority"].set_uint64_param(
        static_cast<uint64_t>(options.priority));
  }
}

absl::Status ForEachOfPayload(
    const inference::ModelMetadataResponse& metadata,
    const inference::ModelConfig& config, const RequestPoolOptions& options,
    const std::function<void(inference::ModelInferRequest&)>& use) {
  if (absl::Status names = CheckNames(metadata, options); !names.ok()) {
    return names;
  }
  const auto inputs = InputSpecs(metadata, config, options.shapes);
  if (!inputs.ok()) {
    return inputs.status();
  }
  std::vector<std::string> outputs;
  for (const Tensor& output : metadata.outputs()) {
    outputs.push_back(output.name());
  }
  const auto samples = ReadPayload(options.data, *inputs, outputs);
  if (!samples.ok()) {
    return samples.status();
  }
  return ForEachPayloadRequest(metadata, *inputs, *samples, options,
                               [&](inference::ModelInferRequest& request) {
                                 AddParameters(options, request);
                                 use(request);
                               });
}

// Returns what one input holds, and which flag changes it.
std::string AdviceOf(const Tensor& input, const RequestPoolOptions& options) {
  const std::string name = absl::StrCat("'", input.name(), "'");
  std::string advice;
  if (input.datatype() == "BYTES") {
    advice = absl::StrCat(name, " has random letters: --data sends real texts");
  } else if (absl::StrContains(input.datatype(), "INT")) {
    const auto given = options.ranges.find(input.name());
    const bool is_given = given != options.ranges.end();
    const IntegerRange range = is_given ? given->second : IntegerRange();
    advice = absl::StrCat(
        name, " has random integers from ", range.low, " to ", range.high,
        is_given ? ", by --range: perhaps not all are in its vocabulary"
                 : absl::StrCat(": --range ", input.name(),
                                ":LOW:HIGH draws others"));
  } else {
    advice = absl::StrCat(name,
                          input.datatype() == "BOOL"
                              ? " is random"
                              : " has random numbers from -1 to 1",
                          ": --data sends real ones");
  }
  if (const auto shape = options.shapes.find(input.name());
      shape != options.shapes.end()) {
    absl::StrAppend(&advice, ", and the shape ",
                    absl::StrJoin(shape->second, ","), ", by --shape");
  }
  return advice;
}

}  // namespace

absl::Status WithAdvice(const absl::Status& error, const std::string& advice) {
  return absl::IsInternal(error) || absl::IsInvalidArgument(error) ||
                 absl::IsOutOfRange(error) || absl::IsUnknown(error)
             ? absl::Status(error.code(),
                            absl::StrCat(error.message(), "; ", advice))
             : error;
}

std::string ContentAdvice(const inference::ModelMetadataResponse& metadata,
                          const RequestPoolOptions& options) {
  if (!options.data.empty()) {
    return absl::StrCat("contents are those of --data ", options.data);
  }
  return absl::StrJoin(metadata.inputs(), "; ",
                       [&](std::string* out, const Tensor& input) {
                         out->append(AdviceOf(input, options));
                       });
}

absl::StatusOr<inference::ModelInferRequest> MakeRequest(
    const inference::ModelMetadataResponse& metadata,
    const inference::ModelConfig& config, const RequestPoolOptions& options,
    uint64_t seed) {
  if (const absl::Status names = CheckNames(metadata, options); !names.ok()) {
    return names;
  }
  const bool has_batch_dimension = config.max_batch_size() > 0;
  std::mt19937_64 random(seed);
  inference::ModelInferRequest request;
  request.set_model_name(metadata.name());
  int64_t message_bytes = 0;
  for (const Tensor& input : metadata.inputs()) {
    const auto dims = RowShape(input, has_batch_dimension, options);
    if (!dims.ok()) {
      return dims.status();
    }
    const auto type = ParseDataType(input.datatype());
    if (!type.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat("input '", input.name(),
                                                     "' has unknown datatype '",
                                                     input.datatype(), "'"));
    }
    const int64_t rows = has_batch_dimension ? options.rows : 1;
    const int64_t count = ElementCount(*dims, rows);
    message_bytes +=
        count * static_cast<int64_t>(std::max<size_t>(ElementSize(*type), 1));
    if (count < 0 || message_bytes > kMaxMessageBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("input '", input.name(), "' is larger than 1 GiB"));
    }
    auto* tensor = request.add_inputs();
    tensor->set_name(input.name());
    tensor->set_datatype(input.datatype());
    if (has_batch_dimension) {
      tensor->add_shape(rows);
    }
    for (const int64_t dim : *dims) {
      tensor->add_shape(dim);
    }
    const auto range = options.ranges.find(input.name());
    *request.add_raw_input_contents() = RandomElements(
        *type, static_cast<size_t>(count),
        range == options.ranges.end() ? IntegerRange() : range->second, random);
  }
  AddParameters(options, request);
  return request;
}

absl::Status ForEachRequest(
    const inference::ModelMetadataResponse& metadata,
    const inference::ModelConfig& config, const RequestPoolOptions& options,
    const std::function<void(inference::ModelInferRequest&)>& use) {
  if (!options.data.empty()) {
    return ForEachOfPayload(metadata, config, options, use);
  }
  for (int32_t i = 0; i < options.count; ++i) {
    auto request =
        MakeRequest(metadata, config, options,
                    options.seed * 1000003 + static_cast<uint64_t>(i));
    if (!request.ok()) {
      return request.status();
    }
    use(*request);
  }
  return absl::OkStatus();
}

grpc::ByteBuffer Serialized(const inference::ModelInferRequest& request) {
  const grpc::Slice slice(request.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

absl::StatusOr<std::vector<grpc::ByteBuffer>> MakeRequestPool(
    const inference::ModelMetadataResponse& metadata,
    const inference::ModelConfig& config, const RequestPoolOptions& options) {
  std::vector<grpc::ByteBuffer> pool;
  const absl::Status made =
      ForEachRequest(metadata, config, options,
                     [&](const inference::ModelInferRequest& request) {
                       pool.push_back(Serialized(request));
                     });
  return made.ok()
             ? absl::StatusOr<std::vector<grpc::ByteBuffer>>(std::move(pool))
             : made;
}

absl::Status ParseShape(absl::string_view text,
                        std::map<std::string, std::vector<int64_t>>* shapes) {
  const size_t colon = text.rfind(':');
  std::vector<int64_t> dims;
  bool is_valid = colon != absl::string_view::npos && colon > 0;
  if (is_valid) {
    for (const absl::string_view part :
         absl::StrSplit(text.substr(colon + 1), ',')) {
      int64_t dim = 0;
      is_valid = is_valid && absl::SimpleAtoi(part, &dim) && dim >= 0;
      dims.push_back(dim);
    }
  }
  if (!is_valid) {
    return absl::InvalidArgumentError(
        absl::StrCat("--shape: expected name:size,size,... got '", text, "'"));
  }
  (*shapes)[std::string(text.substr(0, colon))] = std::move(dims);
  return absl::OkStatus();
}

absl::Status ParseRange(absl::string_view text,
                        std::map<std::string, IntegerRange>* ranges) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  IntegerRange range;
  if (parts.size() != 3 || parts[0].empty() ||
      !absl::SimpleAtoi(parts[1], &range.low) ||
      !absl::SimpleAtoi(parts[2], &range.high) || range.low > range.high) {
    return absl::InvalidArgumentError(
        absl::StrCat("--range: expected name:low:high, got '", text, "'"));
  }
  (*ranges)[parts[0]] = range;
  return absl::OkStatus();
}

}  // namespace ferry::bench

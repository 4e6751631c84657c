// Implements the reading of parameters of the request, an input, an output.
#include "server/codec/infer_parameters.h"

#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/client_text.h"
#include "server/codec/classification.h"

namespace ferry {
namespace {

using inference::InferParameter;

constexpr int64_t kNanosPerMicro = 1000;

absl::Status WrongType(const std::string& name, const InferParameter& value,
                       const char* expected) {
  const auto* found = InferParameter::GetDescriptor()->FindFieldByNumber(
      value.parameter_choice_case());
  return absl::InvalidArgumentError(absl::StrCat(
      "invalid value type for '", Shown(name), "' parameter, expected ",
      expected, ", got ", found == nullptr ? "no value" : found->name()));
}

absl::Status SequencesUnsupported(const std::string& name) {
  return absl::UnimplementedError(
      absl::StrCat("parameter '", name,
                   "': sequences are not supported: send the state along with "
                   "each request and return it as an output"));
}

// The refusal of the parameter whose name is first: a map has no order, and the
// same message shall have the same answer.
class FirstRefusal {
 public:
  void Add(const std::string& name, absl::Status status) {
    if (!status.ok() && (name_ == nullptr || name < *name_)) {
      name_ = &name;
      status_ = std::move(status);
    }
  }

  const absl::Status& status() const { return status_; }

 private:
  const std::string* name_ = nullptr;  // in the map
  absl::Status status_;
};

absl::Status ReadTimeout(const InferParameter& value, Duration& timeout) {
  if (!value.has_int64_param()) {
    return WrongType("timeout", value, "int64_param");
  }
  const int64_t micros = value.int64_param();
  constexpr int64_t kMax =
      std::numeric_limits<int64_t>::max() / kNanosPerMicro / 2;
  if (micros < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "parameter 'timeout': expected 0 or more microseconds, got ", micros));
  }
  // What no clock counts is no limit, as clients mean by the largest number.
  timeout = micros > kMax ? Duration(0) : Duration(micros * kNanosPerMicro);
  return absl::OkStatus();
}

absl::Status ReadPriority(const InferParameter& value, uint64_t& priority) {
  if (value.has_uint64_param()) {
    priority = value.uint64_param();
    return absl::OkStatus();
  }
  if (!value.has_int64_param()) {
    return WrongType("priority", value, "uint64_param");
  }
  if (value.int64_param() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("parameter 'priority': expected at least 0, got ",
                     value.int64_param()));
  }
  priority = static_cast<uint64_t>(value.int64_param());
  return absl::OkStatus();
}

// Id 0 and "" say that there is no sequence, as clients' defaults do.
absl::Status CheckSequence(const std::string& name,
                           const InferParameter& value) {
  if (name == "sequence_id") {
    switch (value.parameter_choice_case()) {
      case InferParameter::kInt64Param:
        return value.int64_param() == 0 ? absl::OkStatus()
                                        : SequencesUnsupported(name);
      case InferParameter::kUint64Param:
        return value.uint64_param() == 0 ? absl::OkStatus()
                                         : SequencesUnsupported(name);
      case InferParameter::kStringParam:
        return value.string_param().empty() ? absl::OkStatus()
                                            : SequencesUnsupported(name);
      default:
        return WrongType(name, value, "int64_param or string_param");
    }
  }
  if (!value.has_bool_param()) {
    return WrongType(name, value, "bool_param");
  }
  return value.bool_param() ? SequencesUnsupported(name) : absl::OkStatus();
}

constexpr char kRegion[] = "shared_memory_region";
constexpr char kRegionBytes[] = "shared_memory_byte_size";
constexpr char kRegionOffset[] = "shared_memory_offset";

absl::Status ReadSize(const std::string& name, const InferParameter& value,
                      uint64_t& size) {
  if (value.has_uint64_param()) {
    size = value.uint64_param();
    return absl::OkStatus();
  }
  if (!value.has_int64_param()) {
    return WrongType(name, value, "int64_param");
  }
  if (value.int64_param() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("parameter '", name, "': expected at least 0, got ",
                     value.int64_param()));
  }
  size = static_cast<uint64_t>(value.int64_param());
  return absl::OkStatus();
}

// Reads the parameter where it is one of a range, which is told by its name.
absl::Status ReadRange(const std::string& name, const InferParameter& value,
                       RegionRange& range) {
  if (name == kRegionBytes) {
    return ReadSize(name, value, range.bytes);
  }
  if (name == kRegionOffset) {
    return ReadSize(name, value, range.offset);
  }
  if (name != kRegion) {
    return absl::OkStatus();
  }
  if (!value.has_string_param()) {
    return WrongType(name, value, "string_param");
  }
  if (value.string_param().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "parameter '", name, "': expected the name of a region, got none"));
  }
  range.region = value.string_param();
  return absl::OkStatus();
}

// OK where the parameters of a range are all there, or none is.
absl::Status CheckRange(const char* kind, const std::string& tensor,
                        const InferParameterMap& parameters) {
  const bool has_region = parameters.contains(kRegion);
  if (has_region == parameters.contains(kRegionBytes) &&
      (has_region || !parameters.contains(kRegionOffset))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      kind, " '", Shown(tensor), "': expected the parameters '", kRegion,
      "' and '", kRegionBytes, "' together, got ",
      has_region ? "only the first" : "no 'shared_memory_region'"));
}

absl::Status ReadClasses(const std::string& output, const InferParameter& value,
                         int64_t& classes) {
  if (!value.has_int64_param()) {
    return WrongType("classification", value, "int64_param");
  }
  classes = value.int64_param();
  if (classes < 1 || classes > kMaxClasses) {
    return absl::InvalidArgumentError(absl::StrCat(
        "output '", Shown(output),
        "': invalid value for 'classification' parameter, expected 1 to ",
        kMaxClasses, ", got ", classes));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RequestParameters> ReadRequestParameters(
    const InferParameterMap& parameters) {
  RequestParameters result;
  FirstRefusal refusal;
  for (const auto& [name, value] : parameters) {
    absl::Status status;
    if (name == "timeout") {
      status = ReadTimeout(value, result.timeout);
    } else if (name == "priority") {
      status = ReadPriority(value, result.priority);
    } else if (name == "sequence_id" || name == "sequence_start" ||
               name == "sequence_end") {
      status = CheckSequence(name, value);
    } else if (name == "triton_enable_empty_final_response") {
      status = value.has_bool_param() ? absl::OkStatus()
                                      : WrongType(name, value, "bool_param");
    } else if (absl::StartsWith(name, "triton_")) {
      status = absl::InvalidArgumentError(absl::StrCat(
          "parameter '", Shown(name),
          "': names that begin with 'triton_' are reserved, expected "
          "'triton_enable_empty_final_response'"));
    }
    refusal.Add(name, std::move(status));
  }
  if (!refusal.status().ok()) {
    return refusal.status();
  }
  return result;
}

const char* SharedMemoryParameter(const InferParameterMap& parameters) {
  for (const char* name : {kRegion, kRegionBytes, kRegionOffset}) {
    if (parameters.contains(name)) {
      return name;
    }
  }
  return nullptr;
}

absl::StatusOr<RegionRange> ReadInputParameters(
    const std::string& input, const InferParameterMap& parameters) {
  RegionRange range;
  FirstRefusal refusal;
  for (const auto& [name, value] : parameters) {
    refusal.Add(name, ReadRange(name, value, range));
  }
  if (!refusal.status().ok()) {
    return refusal.status();
  }
  if (absl::Status status = CheckRange("input", input, parameters);
      !status.ok()) {
    return status;
  }
  return range;
}

absl::StatusOr<OutputParameters> ReadOutputParameters(
    const std::string& output, const InferParameterMap& parameters) {
  OutputParameters result;
  FirstRefusal refusal;
  for (const auto& [name, value] : parameters) {
    refusal.Add(name, name == "classification"
                          ? ReadClasses(output, value, result.classes)
                          : ReadRange(name, value, result.range));
  }
  if (!refusal.status().ok()) {
    return refusal.status();
  }
  if (absl::Status status = CheckRange("output", output, parameters);
      !status.ok()) {
    return status;
  }
  return result;
}

}  // namespace ferry

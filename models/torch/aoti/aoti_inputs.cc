// Implements ReadAotiInputs: finds the checks line by line, since a regular
// expression over megabytes of source would take longer than loading them.
#include "models/torch/aoti/aoti_inputs.h"

#include <absl/container/flat_hash_map.h>

#include <array>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace ferry {
namespace {

// A dynamic size is compiled for 2 and more; the code is the same for 0 and 1.
constexpr int64_t kLeastSpecialized = 2;
constexpr size_t kMaxRank = 64;

std::optional<at::ScalarType> FindType(absl::string_view name) {
  constexpr std::array<std::pair<absl::string_view, at::ScalarType>, 10>
      kTypes = {{{"bool", at::kBool},
                 {"uint8", at::kByte},
                 {"int8", at::kChar},
                 {"int16", at::kShort},
                 {"int32", at::kInt},
                 {"int64", at::kLong},
                 {"float16", at::kHalf},
                 {"bfloat16", at::kBFloat16},
                 {"float32", at::kFloat},
                 {"float64", at::kDouble}}};
  for (const auto& [known, type] : kTypes) {
    if (known == name) {
      return type;
    }
  }
  return std::nullopt;
}

// Takes what stands in `text` up to `end`, and `end` itself, into `taken`.
bool TakeUntil(absl::string_view end, absl::string_view& text,
               absl::string_view& taken) {
  const size_t at = text.find(end);
  if (at == absl::string_view::npos) {
    return false;
  }
  taken = text.substr(0, at);
  text.remove_prefix(at + end.size());
  return true;
}

bool TakeNumber(absl::string_view end, absl::string_view& text,
                int64_t& number) {
  absl::string_view taken;
  return TakeUntil(end, text, taken) && absl::SimpleAtoi(taken, &number);
}

class Reader {
 public:
  absl::StatusOr<std::vector<AotiInput>> Read(absl::string_view source) {
    for (absl::string_view line : absl::StrSplit(source, '\n')) {
      line = absl::StripAsciiWhitespace(line);
      if (!ReadName(line) && !ReadType(line) && !ReadConstant(line) &&
          !ReadBound(line)) {
        ReadTaken(line);
      }
    }
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!has_type_[i] || inputs_[i].dimensions.size() > kMaxRank) {
        return absl::InvalidArgumentError(
            absl::StrCat("input ", i,
                         ": its source does not say which type "
                         "and sizes it takes"));
      }
    }
    return std::move(inputs_);
  }

 private:
  // inputs_info_[0].name = "x";
  bool ReadName(absl::string_view line) {
    absl::string_view name;
    int64_t index = 0;
    if (!absl::ConsumePrefix(&line, "inputs_info_[") ||
        !TakeNumber("]", line, index) ||
        !absl::ConsumePrefix(&line, ".name = \"") ||
        !TakeUntil("\"", line, name) ||
        index != static_cast<int64_t>(inputs_.size())) {
      return false;
    }
    places_[std::string(name)] = inputs_.size();
    inputs_.emplace_back().name = std::string(name);
    has_type_.push_back(false);
    return true;
  }

  // int32_t x_expected_dtype = aoti_torch_dtype_float32();
  bool ReadType(absl::string_view line) {
    absl::string_view name, type_name;
    if (!absl::ConsumePrefix(&line, "int32_t ") ||
        !TakeUntil("_expected_dtype = aoti_torch_dtype_", line, name) ||
        !TakeUntil("(", line, type_name) || !places_.contains(name)) {
      return false;
    }
    const size_t place = places_.at(name);
    const std::optional<at::ScalarType> type = FindType(type_name);
    inputs_[place].type = type.value_or(at::kFloat);
    has_type_[place] = type.has_value();
    return true;
  }

  // if (3 != x_size[1]) {     if (1 != x_stride[1]) {
  bool ReadConstant(absl::string_view line) {
    absl::string_view name;
    int64_t value = 0, index = 0;
    if (!absl::ConsumePrefix(&line, "if (") ||
        !TakeNumber(" != ", line, value) || !TakeUntil("[", line, name) ||
        !TakeNumber("]", line, index)) {
      return false;
    }
    if (absl::ConsumeSuffix(&name, "_size")) {
      if (AotiInput::Dimension* const dimension = Find(name, index)) {
        dimension->min = dimension->max = value;
      }
    } else if (absl::ConsumeSuffix(&name, "_stride")) {
      if (AotiInput::Dimension* const dimension = Find(name, index)) {
        dimension->stride = value;
      }
    }
    return true;
  }

  // if (x_size[0] < 2) {      if (x_size[0] > 8) {
  bool ReadBound(absl::string_view line) {
    absl::string_view name, relation;
    int64_t value = 0, index = 0;
    if (!absl::ConsumePrefix(&line, "if (") || !TakeUntil("[", line, name) ||
        !absl::ConsumeSuffix(&name, "_size") ||
        !TakeNumber("] ", line, index) || !TakeUntil(" ", line, relation) ||
        !TakeNumber(")", line, value)) {
      return false;
    }
    AotiInput::Dimension* const dimension = Find(name, index);
    if (dimension == nullptr) {
      return true;
    }
    if (relation == "<" && value > kLeastSpecialized) {
      dimension->min = value;
    } else if (relation == ">") {
      dimension->max = value;
    }
    return true;
  }

  // int64_t s27 = x_size[1];
  void ReadTaken(absl::string_view line) {
    absl::string_view symbol, name;
    int64_t index = 0;
    if (!absl::ConsumePrefix(&line, "int64_t ") ||
        !TakeUntil(" = ", line, symbol) || !TakeUntil("[", line, name) ||
        !absl::ConsumeSuffix(&name, "_size") ||
        !TakeNumber("];", line, index)) {
      return;
    }
    if (AotiInput::Dimension* const dimension = Find(name, index)) {
      dimension->is_taken_here = true;
    }
  }

  AotiInput::Dimension* Find(absl::string_view name, int64_t index) {
    const auto found = places_.find(name);
    const auto place = static_cast<size_t>(index);
    if (found == places_.end() || place >= kMaxRank) {
      return nullptr;
    }
    auto& dimensions = inputs_[found->second].dimensions;
    if (dimensions.size() <= place) {
      dimensions.resize(place + 1);
    }
    return &dimensions[place];
  }

  absl::flat_hash_map<std::string, size_t> places_;
  std::vector<AotiInput> inputs_;
  std::vector<bool> has_type_;  // [input]
};

bool Fits(const AotiInput& input, at::IntArrayRef sizes) {
  if (sizes.size() != input.dimensions.size()) {
    return false;
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < input.dimensions[i].min ||
        sizes[i] > input.dimensions[i].max) {
      return false;
    }
  }
  return true;
}

// Whether other sizes of the request would fit: rows are Ferry's.
bool MayFit(const AotiInput& input, at::IntArrayRef sizes, bool has_rows) {
  return sizes.size() == input.dimensions.size() &&
         (!has_rows || sizes.empty() ||
          (sizes[0] >= input.dimensions[0].min &&
           sizes[0] <= input.dimensions[0].max));
}

absl::Status CheckAlone(const AotiInput& input, const at::Tensor& tensor,
                        bool has_rows) {
  if (tensor.scalar_type() != input.type) {
    return absl::InvalidArgumentError(
        absl::StrCat("the package takes ", c10::toString(input.type), ", got ",
                     c10::toString(tensor.scalar_type())));
  }
  if (!Fits(input, tensor.sizes())) {
    const std::string text =
        absl::StrCat("the package takes sizes ", DescribeSizes(input),
                     ", got [", absl::StrJoin(tensor.sizes(), ","), "]");
    return MayFit(input, tensor.sizes(), has_rows)
               ? absl::OutOfRangeError(text)
               : absl::InvalidArgumentError(text);
  }
  for (size_t i = 0; i < input.dimensions.size(); ++i) {
    const std::optional<int64_t> stride = input.dimensions[i].stride;
    const auto at = static_cast<int64_t>(i);
    if (stride.has_value() && tensor.size(at) > 1 &&
        tensor.stride(at) != *stride) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the package takes a stride of ", *stride, " in dimension ", i,
          ", which is not contiguous: export it with contiguous inputs"));
    }
  }
  return absl::OkStatus();
}

// Which of the sizes taken elsewhere it is, the code does not say: one with
// the same bounds, and rows are rows. So it must be all of those.
absl::Status CheckShared(size_t input, size_t at,
                         const std::vector<AotiInput>& inputs,
                         const std::vector<at::Tensor>& tensors,
                         bool has_rows) {
  const AotiInput::Dimension& shared = inputs[input].dimensions[at];
  if (shared.is_taken_here || shared.min == shared.max) {
    return absl::OkStatus();
  }
  const int64_t size = tensors[input].size(static_cast<int64_t>(at));
  bool has_other = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t j = 0; j < inputs[i].dimensions.size(); ++j) {
      const AotiInput::Dimension& other = inputs[i].dimensions[j];
      if (!other.is_taken_here || other.min != shared.min ||
          other.max != shared.max || (has_rows && (at == 0) != (j == 0))) {
        continue;
      }
      has_other = true;
      const int64_t taken = tensors[i].size(static_cast<int64_t>(j));
      if (taken != size) {
        return absl::InvalidArgumentError(
            absl::StrCat("the package takes the same size in dimension ", at,
                         " as elsewhere, ", taken, " of '", inputs[i].name,
                         "', got ", size));
      }
    }
  }
  return has_other ? absl::OkStatus()
                   : absl::InvalidArgumentError(absl::StrCat(
                         "the package does not say which sizes it takes in "
                         "dimension ",
                         at, ": give it a torch.export.Dim of its own"));
}

}  // namespace

absl::StatusOr<std::vector<AotiInput>> ReadAotiInputs(
    absl::string_view source) {
  return Reader().Read(source);
}

std::string DescribeSizes(const AotiInput& input) {
  return absl::StrCat(
      "[",
      absl::StrJoin(input.dimensions, ",",
                    [](std::string* text, const AotiInput::Dimension& one) {
                      absl::StrAppend(text, one.min);
                      if (one.max == std::numeric_limits<int64_t>::max()) {
                        absl::StrAppend(text, "..");
                      } else if (one.max > one.min) {
                        absl::StrAppend(text, "..", one.max);
                      }
                    }),
      "]");
}

absl::Status CheckAotiInputs(const std::vector<AotiInput>& inputs,
                             const std::vector<at::Tensor>& tensors,
                             bool has_rows) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    absl::Status status = CheckAlone(inputs[i], tensors[i], has_rows);
    for (size_t at = 0; at < inputs[i].dimensions.size() && status.ok(); ++at) {
      status = CheckShared(i, at, inputs, tensors, has_rows);
    }
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat("input '", inputs[i].name,
                                                      "': ", status.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace ferry

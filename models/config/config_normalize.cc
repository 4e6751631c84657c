// Implements ReadNormalization: reads the parts, then checks them on the input.
#include "models/config/config_normalize.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "models/config/config_tensors.h"

namespace ferry {
namespace {

constexpr char kForm[] =
    "'mean=A,B,C std=A,B,C', and 'divisor=255' and 'channels=first' or "
    "'channels=last' where they are others";

// Whether all are finite numbers.
bool ReadNumbers(absl::string_view text, std::vector<double>& numbers) {
  numbers.clear();
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    double number = 0;
    if (!absl::SimpleAtod(part, &number) || !std::isfinite(number)) {
      return false;
    }
    numbers.push_back(number);
  }
  return true;
}

// Whether the part was understood.
bool ReadPart(absl::string_view part, Normalization& read) {
  const std::pair<absl::string_view, absl::string_view> pair =
      absl::StrSplit(part, absl::MaxSplits('=', 1));
  if (pair.first == "mean") {
    return ReadNumbers(pair.second, read.mean);
  }
  if (pair.first == "std") {
    return ReadNumbers(pair.second, read.std);
  }
  if (pair.first == "divisor") {
    return absl::SimpleAtod(pair.second, &read.divisor) &&
           std::isfinite(read.divisor) && read.divisor > 0;
  }
  if (pair.first == "channels") {
    read.channels =
        pair.second == "last" ? ChannelPlace::kLast : ChannelPlace::kFirst;
    return pair.second == "first" || pair.second == "last";
  }
  return false;
}

std::string Check(const Normalization& read, const TensorSpec& spec) {
  if (spec.type != DataType::kUint8) {
    return absl::StrCat("an input of TYPE_UINT8, which '", spec.name,
                        "' is not");
  }
  if (!std::all_of(read.std.begin(), read.std.end(),
                   [](double value) { return value > 0; })) {
    return "std greater than 0";
  }
  const int64_t channels = spec.dims.empty() ? 0
                           : read.channels == ChannelPlace::kLast
                               ? spec.dims.back()
                               : spec.dims.front();
  if (channels < 1) {
    return absl::StrCat("dims of '", spec.name,
                        "' with a fixed number of channels, first or last");
  }
  for (const std::vector<double>& values : {read.mean, read.std}) {
    if (values.size() != 1 && static_cast<int64_t>(values.size()) != channels) {
      return absl::StrCat("one number, or one for each of the ", channels,
                          " channels of '", spec.name, "'");
    }
  }
  return "";
}

}  // namespace

std::string ReadNormalization(absl::string_view input, absl::string_view text,
                              ModelOptions& options) {
  const std::vector<TensorSpec>& inputs = options.spec.inputs;
  const std::optional<size_t> found = FindTensor(inputs, input);
  if (!found.has_value()) {
    return absl::StrCat("the name of an input after 'ferry.normalize.': ",
                        NamesOf(inputs));
  }
  Normalization read;
  for (absl::string_view part :
       absl::StrSplit(text, absl::ByAnyChar(" \t\n"), absl::SkipEmpty())) {
    if (!ReadPart(part, read)) {
      return kForm;
    }
  }
  if (std::string problem = Check(read, inputs[*found]); !problem.empty()) {
    return problem;
  }
  const size_t place = *found;
  if (!options.input_reshapes.empty() &&
      options.input_reshapes[place].has_value()) {
    return "an input without 'reshape'";
  }
  options.normalizations.resize(inputs.size());
  options.normalizations[place] = std::move(read);
  return "";
}

}  // namespace ferry

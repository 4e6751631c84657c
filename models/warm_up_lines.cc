// Implements WarmUpLines, and finds them again by how they begin.
#include "models/warm_up_lines.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "tensor/data_type.h"

namespace ferry {
namespace {

constexpr char kAdvice[] =
    "check the types and dims of the inputs; where only the values are wrong, "
    "give it a row that it takes: the bytes of each input as a file in the "
    "model's folder 'warmup', and in config.pbtxt";

std::string Dims(const TensorSpec& input) {
  return absl::StrJoin(input.dims, ", ", [](std::string* out, int64_t dim) {
    absl::StrAppend(out, dim == kAnySize ? "SIZE" : absl::StrCat(dim));
  });
}

}  // namespace

std::string WarmUpLines(const ModelSpec& spec) {
  std::string lines = absl::StrCat(kAdvice, "\nmodel_warmup {\n",
                                   "  name: \"row\" batch_size: 1\n");
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    const TensorSpec& input = spec.inputs[i];
    if (input.is_optional) {
      continue;
    }
    const absl::string_view type =
        input.type == DataType::kBytes ? "STRING" : DataTypeName(input.type);
    absl::StrAppend(&lines, "  inputs { key: \"", input.name,
                    "\" value { data_type: TYPE_", type, " dims: [ ",
                    Dims(input), " ] input_data_file: \"row.", i, "\" } }\n");
  }
  return lines + "}";
}

absl::string_view WithoutWarmUpLines(absl::string_view failure) {
  return failure.substr(0, failure.find(absl::StrCat("; ", kAdvice)));
}

std::string WithNote(absl::string_view failure, absl::string_view note) {
  const absl::string_view what = WithoutWarmUpLines(failure);
  return absl::StrCat(what, note, failure.substr(what.size()));
}

}  // namespace ferry

// Implements InputSpecs() and AppendSamples(): checks shapes, splits rows.
#include "bench/client/payload.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensor/bytes_elements.h"

namespace ferry::bench {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 40;

std::string Brackets(const std::vector<int64_t>& dims) {
  return absl::StrCat("[", absl::StrJoin(dims, ","), "]");
}

absl::Status Wrong(const std::string& where, const InputSpec& input,
                   const std::string& expected, const std::string& found) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": input '", input.name,
                                                 "': expected ", expected,
                                                 ", found ", found));
}

// The product of the sizes that are known; -1 where it is out of bounds.
int64_t KnownElements(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) {
    if (dim < 0) {
      continue;
    }
    if (dim > 0 && count > kMostElements / dim) {
      return -1;
    }
    count *= dim;
  }
  return count;
}

// Where each element of BYTES begins, and the end. Nothing where the lengths do
// not add up.
std::optional<std::vector<size_t>> BytesStarts(const std::string& bytes) {
  std::vector<size_t> starts = {0};
  while (starts.back() < bytes.size()) {
    const size_t at = starts.back();
    if (bytes.size() - at < kBytesLengthSize) {
      return std::nullopt;
    }
    uint32_t length = 0;
    std::memcpy(&length, bytes.data() + at, sizeof(length));
    if (bytes.size() - at - kBytesLengthSize < length) {
      return std::nullopt;
    }
    starts.push_back(at + kBytesLengthSize + length);
  }
  return starts;
}

// Rows of one input.
struct Rows {
  std::vector<int64_t> dims;  // of each
  int64_t count = 1;
};

bool Fits(const std::vector<int64_t>& expected,
          std::vector<int64_t>::const_iterator begin,
          std::vector<int64_t>::const_iterator end) {
  return std::equal(
      expected.begin(), expected.end(), begin, end,
      [](int64_t want, int64_t have) { return want == -1 || want == have; });
}

std::string ExpectedShape(const InputSpec& input) {
  return input.has_rows ? absl::StrCat("a shape of ", Brackets(input.dims),
                                       " with or without rows before it")
                        : absl::StrCat("a shape of ", Brackets(input.dims));
}

// REQUIRES: `elements` are there.
absl::StatusOr<Rows> RowsOfShape(const InputSpec& input,
                                 const std::vector<int64_t>& shape,
                                 int64_t elements, const std::string& where) {
  Rows rows{shape, 1};
  bool fits = Fits(input.dims, shape.begin(), shape.end());
  if (!fits && input.has_rows && !shape.empty()) {
    fits = Fits(input.dims, shape.begin() + 1, shape.end());
    rows = {{shape.begin() + 1, shape.end()}, shape.front()};
  }
  if (!fits || std::any_of(shape.begin(), shape.end(),
                           [](int64_t dim) { return dim < 0; })) {
    return Wrong(where, input, ExpectedShape(input), Brackets(shape));
  }
  if (KnownElements(shape) != elements) {
    return Wrong(where, input,
                 absl::StrCat(KnownElements(shape), " elements of shape ",
                              Brackets(shape)),
                 absl::StrCat(elements));
  }
  return rows;
}

absl::StatusOr<Rows> RowsOfCount(const InputSpec& input, int64_t elements,
                                 const std::string& where) {
  const auto open = std::count(input.dims.begin(), input.dims.end(), -1);
  const int64_t known = KnownElements(input.dims);
  if (open > 1) {
    return Wrong(
        where, input,
        absl::StrCat("a \"shape\", or --shape, for ", Brackets(input.dims)),
        "none");
  }
  const bool fits = known > 0 && elements % known == 0 && elements > 0;
  if (open == 1 && fits) {
    Rows rows{input.dims, 1};
    std::replace(rows.dims.begin(), rows.dims.end(), int64_t{-1},
                 elements / known);
    return rows;
  }
  if (open == 0 && (elements == known || (fits && input.has_rows))) {
    return Rows{input.dims, known > 0 ? elements / known : 1};
  }
  return Wrong(
      where, input,
      absl::StrCat(known, " elements of ", DataTypeName(input.type), " ",
                   Brackets(input.dims),
                   input.has_rows || open > 0 ? ", or a multiple" : ""),
      absl::StrCat(elements));
}

// One input's contents, in rows: `most` at most. Rows of no elements are as
// many as a shape says, whatever there is of contents.
absl::Status Split(const InputSpec& input, const InputContents& contents,
                   const std::string& where, size_t most,
                   std::vector<SampleInput>& split) {
  std::vector<size_t> starts;  // of BYTES
  int64_t elements = 0;
  if (input.type == DataType::kBytes) {
    auto found = BytesStarts(contents.bytes);
    if (!found.has_value()) {
      return Wrong(where, input,
                   "elements of BYTES, each behind its length of 4 bytes",
                   "lengths that do not add up");
    }
    starts = *std::move(found);
    elements = static_cast<int64_t>(starts.size()) - 1;
  } else {
    const size_t size = ElementSize(input.type);
    if (contents.bytes.size() % size != 0) {
      return Wrong(where, input,
                   absl::StrCat("a multiple of ", size, " bytes for ",
                                DataTypeName(input.type)),
                   absl::StrCat(contents.bytes.size()));
    }
    elements = static_cast<int64_t>(contents.bytes.size() / size);
  }
  const auto rows = contents.shape.has_value()
                        ? RowsOfShape(input, *contents.shape, elements, where)
                        : RowsOfCount(input, elements, where);
  if (!rows.ok()) {
    return rows.status();
  }
  if (static_cast<uint64_t>(rows->count) > most) {
    return Wrong(where, input,
                 absl::StrCat(kMostSamples, " rows in all at most"),
                 absl::StrCat(rows->count, " beside ", kMostSamples - most));
  }
  const auto a_row =
      static_cast<size_t>(rows->count == 0 ? 0 : elements / rows->count);
  for (size_t row = 0; row < static_cast<size_t>(rows->count); ++row) {
    size_t begin = row * a_row * ElementSize(input.type);
    size_t end = begin + a_row * ElementSize(input.type);
    if (input.type == DataType::kBytes) {
      begin = starts[row * a_row];
      end = starts[(row + 1) * a_row];
    }
    split.push_back({rows->dims, contents.bytes.substr(begin, end - begin)});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<InputSpec>> InputSpecs(
    const inference::ModelMetadataResponse& metadata,
    const inference::ModelConfig& config,
    const std::map<std::string, std::vector<int64_t>>& shapes) {
  std::vector<InputSpec> inputs;
  for (const auto& tensor : metadata.inputs()) {
    const auto type = ParseDataType(tensor.datatype());
    if (!type.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat("input '", tensor.name(),
                                                     "' has unknown datatype '",
                                                     tensor.datatype(), "'"));
    }
    InputSpec& input = inputs.emplace_back();
    input.name = tensor.name();
    input.type = *type;
    input.has_rows = config.max_batch_size() > 0 && tensor.shape_size() > 0;
    input.dims.assign(tensor.shape().begin() + (input.has_rows ? 1 : 0),
                      tensor.shape().end());
    if (const auto given = shapes.find(input.name); given != shapes.end()) {
      if (!Fits(input.dims, given->second.begin(), given->second.end())) {
        return Wrong("--shape", input, Brackets(input.dims),
                     Brackets(given->second));
      }
      input.dims = given->second;
    }
    for (const auto& configured : config.input()) {
      input.is_optional =
          input.is_optional ||
          (configured.name() == input.name && configured.optional());
    }
  }
  return inputs;
}

absl::Status AppendSamples(const std::vector<InputSpec>& inputs,
                           const std::map<std::string, InputContents>& contents,
                           const std::string& where,
                           std::vector<Sample>& samples) {
  const size_t most = kMostSamples - std::min(samples.size(), kMostSamples);
  std::vector<Sample> rows;
  const std::string* first = nullptr;
  for (const InputSpec& input : inputs) {
    const auto found = contents.find(input.name);
    if (found == contents.end()) {
      if (input.is_optional) {
        continue;
      }
      return Wrong(where, input, "its contents", "none");
    }
    std::vector<SampleInput> split;
    if (auto status = Split(input, found->second, where, most, split);
        !status.ok()) {
      return status;
    }
    if (first == nullptr) {
      first = &input.name;
      rows.resize(split.size());
    } else if (split.size() != rows.size()) {
      return Wrong(where, input,
                   absl::StrCat(rows.size(), " rows, as of '", *first, "'"),
                   absl::StrCat(split.size()));
    }
    for (size_t row = 0; row < rows.size(); ++row) {
      rows[row][input.name] = std::move(split[row]);
    }
  }
  std::move(rows.begin(), rows.end(), std::back_inserter(samples));
  return absl::OkStatus();
}

}  // namespace ferry::bench

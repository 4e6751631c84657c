// Implements InferDecoder: checks in the order a client would fix: inputs by
// name, then each one's type, shape and bytes, then outputs and parameters.
#include "server/codec/infer_codec.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "server/client_text.h"
#include "server/codec/classification.h"
#include "server/codec/typed_contents.h"
#include "tensor/bytes_elements.h"
#include "tensor/segment_reader.h"

namespace ferry {
namespace {

constexpr int kNotSent = -1;
constexpr int32_t kNoRows = 0;  // no input has said how many

// What any queue holds at most; the scheduler knows what its own does, and
// whether more rows than a batch holds are served in parts.
constexpr int64_t kMaxRows = 1 << 26;

// Above this, converted contents are given back and not kept.
constexpr size_t kMaxKeptBytes = size_t{16} << 10;  // of each input

absl::Status Invalid(const std::string& text) {
  return absl::InvalidArgumentError(text);
}

// "'a', 'b'"
std::string NamesOf(const std::vector<TensorSpec>& tensors) {
  return absl::StrJoin(tensors, ", ",
                       [](std::string* text, const TensorSpec& tensor) {
                         absl::StrAppend(text, "'", tensor.name, "'");
                       });
}

std::string OfInput(const ModelView& model, const std::string& input) {
  return absl::StrCat("input '", input, "' for model '", model.name, "'");
}

// OK where shared memory is offered, or the tensor is in the message.
absl::Status CheckOffered(const ClientRegions& regions, const char* kind,
                          const std::string& tensor,
                          const InferParameterMap& parameters) {
  const char* const name =
      regions.regions == nullptr ? SharedMemoryParameter(parameters) : nullptr;
  return name == nullptr ? absl::OkStatus()
                         : absl::UnimplementedError(absl::StrCat(
                               kind, " '", Shown(tensor), "': parameter '",
                               name, "': ", kNoSharedMemory));
}

// The same status, which says of which input it is.
absl::Status OfInput(const ModelView& model, const TensorSpec& spec,
                     const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(OfInput(model, spec.name),
                                                  ": ", status.message()));
}

// Returns whether raw bytes may be no element of the type; those of the other
// types are always some number.
bool MayBeMalformed(DataType type) {
  return type == DataType::kBool || type == DataType::kBytes;
}

// A bool that is neither 0 nor 1 is none, whatever computes with it.
absl::Status CheckBools(absl::Span<const ByteSegment> segments) {
  for (const ByteSegment& segment : segments) {
    for (size_t i = 0; i < segment.size; ++i) {
      if (static_cast<uint8_t>(segment.data[i]) > 1) {
        return absl::InvalidArgumentError(
            "expected bytes of 0 or 1 as datatype 'BOOL', got another value");
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckBytes(int64_t count, absl::Span<const ByteSegment> segments) {
  SegmentReader reader(segments);
  for (int64_t i = 0; i < count; ++i) {
    if (reader.at_end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "expected ", count, " elements of datatype 'BYTES', got ", i));
    }
    uint32_t length = 0;
    const size_t left = reader.left();
    if (!ReadBytesLength(reader, length)) {
      return absl::InvalidArgumentError(
          absl::StrCat("element ", i,
                       " of datatype 'BYTES': expected a length "
                       "of ",
                       kBytesLengthSize, " bytes, got ", left, " bytes"));
    }
    if (!reader.Skip(length)) {
      return absl::InvalidArgumentError(
          absl::StrCat("element ", i, " of datatype 'BYTES': expected ", length,
                       " bytes behind its length, got ", reader.left()));
    }
  }
  if (!reader.at_end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected ", count, " elements of datatype 'BYTES', got ",
                     reader.left(), " bytes behind them"));
  }
  return absl::OkStatus();
}

// Returns OK if `segments` hold `count` elements, of a type that may be
// malformed. REQUIRES: of bools they hold that many bytes.
absl::Status CheckRawElements(DataType type, int64_t count,
                              absl::Span<const ByteSegment> segments) {
  return type == DataType::kBool ? CheckBools(segments)
                                 : CheckBytes(count, segments);
}

}  // namespace

absl::Status InferDecoder::Bind(const ModelView& model, InferRequest& request,
                                const ClientRegions& regions) {
  const absl::Cleanup forget = [this] { regions_ = {}; };
  regions_ = regions;
  copies_.clear();
  if (message_.is_repeated() && bound_.serial != 0 &&
      bound_.serial == model.serial && BindAgain(model, request)) {
    return absl::OkStatus();
  }
  bound_ = {};
  absl::Status status = BindAnew(model, request);
  if (status.ok() && message_.raw_count() > 0 && places_.empty() &&
      output_regions_.empty()) {
    bound_ = {.serial = model.serial,
              .rows = request.rows,
              .bytes = request.bytes,
              .shape_key = request.shape_key};
    raw_bytes_.clear();
    for (const int sent_as : sent_as_) {
      raw_bytes_.push_back(
          sent_as == kNotSent
              ? 0
              : message_.raw_bytes(static_cast<size_t>(sent_as)));
    }
  }
  return status;
}

bool InferDecoder::BindAgain(const ModelView& model, InferRequest& request) {
  if (message_.raw_count() !=
      static_cast<size_t>(message_.fields().inputs_size())) {
    return false;
  }
  for (size_t i = 0; i < raw_bytes_.size(); ++i) {
    if (sent_as_[i] == kNotSent) {
      continue;
    }
    const auto sent_as = static_cast<size_t>(sent_as_[i]);
    if (message_.raw_bytes(sent_as) != raw_bytes_[i]) {
      return false;
    }
    inputs_[i].segments = message_.raw(sent_as);
    const DataType type = model.spec.inputs[i].type;
    if (MayBeMalformed(type) &&
        !CheckRawElements(type, elements_[i], inputs_[i].segments).ok()) {
      return false;
    }
  }
  request.inputs = inputs_;
  request.rows = bound_.rows;
  request.bytes = bound_.bytes;
  request.shape_key = bound_.shape_key;
  return true;
}

absl::Status InferDecoder::BindAnew(const ModelView& model,
                                    InferRequest& request) {
  const size_t input_count = model.spec.inputs.size();
  parameters_ = {};
  if (!message_.fields().parameters().empty()) {
    const absl::StatusOr<RequestParameters> parameters =
        ReadRequestParameters(message_.fields().parameters());
    if (!parameters.ok()) {
      return parameters.status();
    }
    parameters_ = *parameters;
  }
  if (absl::Status status = MatchInputs(model); !status.ok()) {
    return status;
  }
  inputs_.assign(input_count, TensorView());
  elements_.assign(input_count, 0);
  typed_segments_.assign(input_count, ByteSegment());
  typed_bytes_.resize(std::max(typed_bytes_.size(), input_count));
  request.rows = kNoRows;
  request.bytes = 0;
  for (size_t i = 0; i < input_count; ++i) {
    inputs_[i].is_given = sent_as_[i] != kNotSent;
    if (!inputs_[i].is_given) {
      continue;
    }
    if (absl::Status status = BindInput(model, i, request); !status.ok()) {
      return status;
    }
  }
  if (request.rows == kNoRows && model.spec.max_batch_size > 0) {
    return Invalid(absl::StrCat("expected at least one input for model '",
                                model.name,
                                "', which says how many rows there are, got "
                                "none"));
  }
  request.rows = std::max(request.rows, 1);
  request.shape_key = 0;
  if (RequestsMayDiffer(model.spec)) {
    if (absl::Status status = BindPadding(model, request.rows); !status.ok()) {
      return status;
    }
    request.shape_key = ShapeKey(inputs_);
  }
  request.inputs = inputs_;
  return BindOutputs(model);
}

absl::Status InferDecoder::MatchInputs(const ModelView& model) {
  const auto& sent = message_.fields().inputs();
  sent_as_.assign(model.spec.inputs.size(), kNotSent);
  for (int i = 0; i < sent.size(); ++i) {
    const std::optional<size_t> input =
        FindTensor(model.spec.inputs, sent[i].name());
    if (!input.has_value()) {
      return Invalid(absl::StrCat("unexpected inference input '",
                                  Shown(sent[i].name()), "' for model '",
                                  model.name, "', expected ",
                                  NamesOf(model.spec.inputs)));
    }
    if (sent_as_[*input] != kNotSent) {
      return Invalid(absl::StrCat("input '", sent[i].name(),
                                  "' is given twice for model '", model.name,
                                  "', expected once"));
    }
    sent_as_[*input] = i;
  }
  std::vector<std::string> missing;
  for (size_t i = 0; i < sent_as_.size(); ++i) {
    if (sent_as_[i] == kNotSent && !model.spec.inputs[i].is_optional) {
      missing.push_back(model.spec.inputs[i].name);
    }
  }
  if (!missing.empty()) {
    return Invalid(absl::StrCat(
        "expected ", sent_as_.size(), " inputs but got ", sent.size(),
        " inputs for model '", model.name, "', missing input(s) ['",
        absl::StrJoin(missing, "', '"), "']"));
  }
  if (absl::Status status = FindRanges(); !status.ok()) {
    return status;
  }
  const size_t raw_count = message_.raw_count();
  auto in_message = static_cast<size_t>(sent.size());
  for (const Place& place : places_) {
    in_message -= place.range.region.empty() ? 0 : 1;
  }
  if (raw_count != 0 && raw_count != in_message) {
    return Invalid(absl::StrCat(
        "expected ", in_message, " raw_input_contents, one an input",
        places_.empty() ? "" : " that is in no shared memory", ", got ",
        raw_count, " for model '", model.name, "'"));
  }
  return absl::OkStatus();
}

absl::Status InferDecoder::FindRanges() {
  places_.clear();
  const auto& sent = message_.fields().inputs();
  size_t in_regions = 0;
  for (int i = 0; i < sent.size(); ++i) {
    RegionRange range;
    if (!sent[i].parameters().empty()) {
      if (absl::Status status = CheckOffered(regions_, "input", sent[i].name(),
                                             sent[i].parameters());
          !status.ok()) {
        return status;
      }
      absl::StatusOr<RegionRange> read =
          ReadInputParameters(sent[i].name(), sent[i].parameters());
      if (!read.ok()) {
        return read.status();
      }
      range = *std::move(read);
    }
    if (range.region.empty() && places_.empty()) {
      continue;
    }
    const auto index = static_cast<size_t>(i);
    for (size_t before = places_.size(); before < index; ++before) {
      places_.push_back({.range = {}, .raw = before});
    }
    const bool is_in_region = !range.region.empty();
    places_.push_back({.range = std::move(range), .raw = index - in_regions});
    in_regions += is_in_region ? 1 : 0;
  }
  return absl::OkStatus();
}

absl::Status InferDecoder::BindInput(const ModelView& model, size_t index,
                                     InferRequest& request) {
  const TensorSpec& spec = model.spec.inputs[index];
  const Input& sent = message_.fields().inputs(sent_as_[index]);
  if (sent.datatype() != DataTypeName(spec.type)) {
    return Invalid(absl::StrCat("inference input '", spec.name,
                                "' data-type is '", Shown(sent.datatype()),
                                "', but model '", model.name, "' expects '",
                                DataTypeName(spec.type), "'"));
  }
  absl::Status status = BindShape(model, index, request);
  if (status.ok()) {
    status = BindBytes(model, index, request.rows);
  }
  if (status.ok()) {
    for (const ByteSegment& segment : inputs_[index].segments) {
      request.bytes += segment.size;
    }
    if (inputs_[index].is_bytes) {
      request.bytes += static_cast<size_t>(elements_[index]) * kBytesOfText;
    }
  }
  return status;
}

absl::Status InferDecoder::BindShape(const ModelView& model, size_t index,
                                     InferRequest& request) {
  const TensorSpec& spec = model.spec.inputs[index];
  const Input& sent = message_.fields().inputs(sent_as_[index]);
  const absl::Span<const int64_t> shape(sent.shape().data(),
                                        static_cast<size_t>(sent.shape_size()));
  const size_t batch_dims = model.spec.max_batch_size > 0 ? 1 : 0;
  const auto unexpected = [&](absl::string_view why = "") {
    return Invalid(absl::StrCat(
        "unexpected shape for ", OfInput(model, spec.name), ". Expected ",
        ShownSpec(model.spec, spec), ", got ", ShownShape(shape), why));
  };
  if (shape.size() != spec.dims.size() + batch_dims) {
    return unexpected();
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool is_batch = i < batch_dims;
    const int64_t expected = is_batch ? kAnySize : spec.dims[i - batch_dims];
    if (expected != kAnySize && expected != shape[i]) {
      return unexpected();
    }
    if (shape[i] < 0) {
      return unexpected(
          "; a request says its own sizes, of 0 or more, in place of -1");
    }
    if (is_batch && shape[i] == 0) {
      return unexpected("; a request has at least one row");
    }
  }
  inputs_[index].dims = shape.subspan(batch_dims);
  if (batch_dims == 0) {
    request.rows = 1;
    return absl::OkStatus();
  }
  const int64_t rows = shape.front();
  if (rows > kMaxRows) {
    return Invalid(
        absl::StrCat("inference request batch-size must be <= ", kMaxRows,
                     " for '", model.name, "', got ", rows));
  }
  if (request.rows != kNoRows && rows != request.rows) {
    return Invalid(absl::StrCat(
        "input '", spec.name, "' batch size does not match other inputs for '",
        model.name, "'. Expected ", request.rows, ", got ", rows));
  }
  request.rows = static_cast<int32_t>(rows);
  return absl::OkStatus();
}

absl::Status InferDecoder::BindBytes(const ModelView& model, size_t index,
                                     int32_t rows) {
  const TensorSpec& spec = model.spec.inputs[index];
  TensorView& view = inputs_[index];
  view.is_bytes = spec.type == DataType::kBytes;
  std::optional<int64_t> count = ElementCount(view.dims);
  count = count.has_value() ? CheckedMultiply(*count, rows) : count;
  const std::optional<int64_t> bytes =
      count.has_value()
          ? CheckedMultiply(*count, static_cast<int64_t>(
                                        view.is_bytes ? kBytesLengthSize
                                                      : ElementSize(spec.type)))
          : std::nullopt;
  if (!bytes.has_value()) {
    return Invalid(absl::StrCat("shape of ", OfInput(model, spec.name),
                                " has more bytes than can be counted, got ",
                                rows, " rows of ", ShownShape(view.dims)));
  }
  elements_[index] = *count;
  const auto sent_as = static_cast<size_t>(sent_as_[index]);
  const bool is_in_region =
      !places_.empty() && !places_[sent_as].range.region.empty();
  if (message_.raw_count() == 0 && !is_in_region) {
    return BindTyped(model, index, *count);
  }
  if (message_.has_typed(sent_as)) {
    return Invalid(
        absl::StrCat("contents field must not be specified when using ",
                     is_in_region ? "shared memory" : "raw_input_contents",
                     " for '", spec.name, "' for model '", model.name, "'"));
  }
  const size_t raw = places_.empty() ? sent_as : places_[sent_as].raw;
  const uint64_t got =
      is_in_region ? places_[sent_as].range.bytes : message_.raw_bytes(raw);
  if (!view.is_bytes && got != static_cast<uint64_t>(*bytes)) {
    return Invalid(absl::StrCat("input byte size mismatch for ",
                                OfInput(model, spec.name), ". Expected ",
                                *bytes, ", got ", got));
  }
  if (is_in_region) {
    // What a string takes is counted before the strings are there.
    if (got < static_cast<uint64_t>(*bytes)) {
      return Invalid(absl::StrCat(
          "input byte size mismatch for ", OfInput(model, spec.name),
          ". Expected at least ", *bytes, ", got ", got));
    }
    absl::Status status = PlaceInRegion(index, places_[sent_as].range);
    return status.ok() ? status : OfInput(model, spec, status);
  }
  view.segments = message_.raw(raw);
  if (!MayBeMalformed(spec.type)) {
    return absl::OkStatus();
  }
  const absl::Status status =
      CheckRawElements(spec.type, *count, view.segments);
  return status.ok() ? status : OfInput(model, spec, status);
}

absl::Status InferDecoder::BindTyped(const ModelView& model, size_t index,
                                     int64_t count) {
  const TensorSpec& spec = model.spec.inputs[index];
  const auto sent_as = static_cast<size_t>(sent_as_[index]);
  if (!message_.has_typed(sent_as) && count == 0) {
    return absl::OkStatus();
  }
  if (!message_.has_typed(sent_as)) {
    return Invalid(absl::StrCat("unable to find data for input tensor '",
                                spec.name, "' for model '", model.name,
                                "' in request, expected raw_input_contents or "
                                "contents, got neither"));
  }
  absl::StatusOr<ByteSegment> segment =
      TypedSegment(message_.typed(sent_as), message_.typed_pieces(sent_as),
                   spec.type, count, typed_bytes_[index]);
  if (!segment.ok()) {
    return OfInput(model, spec, segment.status());
  }
  typed_segments_[index] = *segment;
  inputs_[index].segments = absl::MakeConstSpan(&typed_segments_[index], 1);
  return absl::OkStatus();
}

absl::Status InferDecoder::PlaceInRegion(size_t index,
                                         const RegionRange& range) {
  uint64_t bytes = range.bytes;
  for (const Copy& copy : copies_) {
    bytes += copy.size;
  }
  if (bytes > regions_.max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected at most ", regions_.max_bytes,
                     " bytes of a request in shared memory, as in a message, "
                     "got more"));
  }
  absl::StatusOr<SharedRegions::Use> region =
      regions_.regions->Find(*regions_.client, range.region);
  if (!region.ok()) {
    return region.status();
  }
  if (absl::Status status = (*region)->CheckRange(range.offset, range.bytes);
      !status.ok()) {
    return status;
  }
  // Not written before CopyRegions(), so that it is no memory yet.
  copies_.push_back(
      {.input = index,
       .region = *std::move(region),
       .offset = range.offset,
       .size = range.bytes,
       .bytes = std::make_unique_for_overwrite<std::byte[]>(range.bytes)});
  typed_segments_[index] = {copies_.back().bytes.get(), range.bytes};
  inputs_[index].segments = absl::MakeConstSpan(&typed_segments_[index], 1);
  return absl::OkStatus();
}

absl::Status InferDecoder::CopyRegions(const ModelView& model) {
  for (const Copy& copy : copies_) {
    const TensorSpec& spec = model.spec.inputs[copy.input];
    absl::Status status =
        copy.region->Read(copy.offset, {copy.bytes.get(), copy.size});
    if (status.ok() && MayBeMalformed(spec.type)) {
      const ByteSegment segment = {copy.bytes.get(), copy.size};
      status = CheckRawElements(spec.type, elements_[copy.input],
                                absl::MakeConstSpan(&segment, 1));
    }
    if (!status.ok()) {
      return OfInput(model, spec, status);
    }
  }
  return absl::OkStatus();
}

absl::Status InferDecoder::BindPadding(const ModelView& model, int32_t rows) {
  const std::optional<size_t> misfit =
      padded_.Apply(model.spec, rows, absl::MakeSpan(inputs_));
  if (!misfit.has_value()) {
    return absl::OkStatus();
  }
  const TensorSpec& spec = model.spec.inputs[*misfit];
  const size_t followed = *spec.follows;
  return Invalid(absl::StrCat(
      "unexpected shape for ", OfInput(model, spec.name),
      ". Expected the size of input '", model.spec.inputs[followed].name,
      "', which is ", ShownShape(inputs_[followed].dims), " a row, got ",
      ShownShape(inputs_[*misfit].dims)));
}

absl::Status InferDecoder::BindOutputs(const ModelView& model) {
  outputs_.clear();
  classes_.clear();
  output_regions_.clear();
  const auto& requested = message_.fields().outputs();
  for (const auto& output : requested) {
    const std::optional<size_t> index =
        FindTensor(model.spec.outputs, output.name());
    if (!index.has_value()) {
      return Invalid(absl::StrCat("unexpected inference output '",
                                  Shown(output.name()), "' for model '",
                                  model.name, "', expected ",
                                  NamesOf(model.spec.outputs)));
    }
    if (std::find(outputs_.begin(), outputs_.end(), *index) != outputs_.end()) {
      return Invalid(absl::StrCat("output '", output.name(),
                                  "' is requested twice for model '",
                                  model.name, "', expected once"));
    }
    if (absl::Status status = CheckOffered(regions_, "output", output.name(),
                                           output.parameters());
        !status.ok()) {
      return status;
    }
    const absl::StatusOr<OutputParameters> parameters =
        ReadOutputParameters(output.name(), output.parameters());
    if (!parameters.ok()) {
      return parameters.status();
    }
    const int64_t classes = parameters->classes;
    const TensorSpec& spec = model.spec.outputs[*index];
    if (classes > 0 && !HasClasses(spec.type)) {
      return Invalid(absl::StrCat("output '", spec.name,
                                  "': parameter 'classification': expected an "
                                  "output of integers, FP32 or FP64, model '",
                                  model.name, "' gives ",
                                  DataTypeName(spec.type)));
    }
    outputs_.push_back(*index);
    if (classes > 0 || !classes_.empty()) {
      classes_.resize(outputs_.size() - 1);
      classes_.push_back(classes);
    }
    if (!parameters->range.region.empty() || !output_regions_.empty()) {
      output_regions_.resize(outputs_.size());
    }
    if (!parameters->range.region.empty()) {
      absl::Status status = FindOutputRegion(*parameters);
      if (!status.ok()) {
        return absl::Status(status.code(),
                            absl::StrCat("output '", spec.name, "' of model '",
                                         model.name, "': ", status.message()));
      }
    }
  }
  if (requested.empty()) {
    for (size_t i = 0; i < model.spec.outputs.size(); ++i) {
      outputs_.push_back(i);
    }
  }
  return absl::OkStatus();
}

absl::Status InferDecoder::FindOutputRegion(
    const OutputParameters& parameters) {
  if (parameters.classes > 0) {
    return Invalid(
        "expected classes in the message, or values in shared memory, got "
        "both parameters");
  }
  absl::StatusOr<SharedRegions::Use> region =
      regions_.regions->Find(*regions_.client, parameters.range.region);
  if (!region.ok()) {
    return region.status();
  }
  if (absl::Status status = (*region)->CheckRange(parameters.range.offset,
                                                  parameters.range.bytes);
      !status.ok()) {
    return status;
  }
  output_regions_.back() = {.range = parameters.range,
                            .region = *std::move(region)};
  return absl::OkStatus();
}

void InferDecoder::Clear() {
  message_.Clear();
  places_.clear();
  copies_.clear();
  output_regions_.clear();
  for (std::vector<std::byte>& bytes : typed_bytes_) {
    if (bytes.capacity() > kMaxKeptBytes) {
      std::vector<std::byte>().swap(bytes);
    }
    bytes.clear();
  }
}

}  // namespace ferry

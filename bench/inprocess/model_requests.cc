// Implements ModelRequests: ferry-bench's messages as the server's codec has
// them.
#include "bench/inprocess/model_requests.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "batcher/future.h"
#include "proto/inference.pb.h"
#include "tensor/data_type.h"
#include "tensor/padding.h"

namespace ferry::bench {
namespace {

void Describe(
    const std::vector<TensorSpec>& tensors, bool has_rows,
    google::protobuf::RepeatedPtrField<
        inference::ModelMetadataResponse::TensorMetadata>& described) {
  for (const TensorSpec& spec : tensors) {
    auto& tensor = *described.Add();
    tensor.set_name(spec.name);
    tensor.set_datatype(DataTypeName(spec.type));
    if (has_rows) {
      tensor.add_shape(kAnySize);
    }
    tensor.mutable_shape()->Add(spec.dims.begin(), spec.dims.end());
  }
}

// Returns what the server answers to ModelMetadata.
inference::ModelMetadataResponse MetadataOf(const ServedModel& model) {
  const bool has_rows = model.spec.max_batch_size > 0;
  inference::ModelMetadataResponse metadata;
  metadata.set_name(model.name);
  metadata.set_platform(model.platform);
  Describe(model.spec.inputs, has_rows, *metadata.mutable_inputs());
  Describe(model.spec.outputs, has_rows, *metadata.mutable_outputs());
  return metadata;
}

}  // namespace

// One request: its message, and views of the tensors in it.
class ModelRequests::One {
 public:
  One(const ModelSpec& spec, inference::ModelInferRequest message)
      : message_(std::move(message)),
        segments_(spec.inputs.size()),
        views_(spec.inputs.size()) {
    for (TensorView& view : views_) {
      view.is_given = false;
    }
  }

  // Fills the views. INVALID_ARGUMENT where they do not fit the model.
  absl::Status Bind(const ModelSpec& spec) {
    const bool has_rows = spec.max_batch_size > 0;
    for (int i = 0; i < message_.inputs_size(); ++i) {
      const auto& sent = message_.inputs(i);
      const std::optional<size_t> place = FindTensor(spec.inputs, sent.name());
      if (!place.has_value()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "expected an input of the model, got '", sent.name(), "'"));
      }
      if (has_rows) {
        brought_.rows = static_cast<int32_t>(sent.shape(0));
      }
      const std::string& bytes = message_.raw_input_contents(i);
      segments_[*place] = {reinterpret_cast<const std::byte*>(bytes.data()),
                           bytes.size()};
      views_[*place] = {
          .dims = absl::MakeConstSpan(sent.shape()).subspan(has_rows ? 1 : 0),
          .segments = {&segments_[*place], 1},
          .is_bytes = spec.inputs[*place].type == DataType::kBytes};
      brought_.bytes += bytes.size();
    }
    const std::optional<size_t> wrong =
        padded_.Apply(spec, brought_.rows, absl::MakeSpan(views_));
    if (wrong.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "expected input '", spec.inputs[*wrong].name,
          "' to have the size of the one that it follows; see --shape"));
    }
    brought_.inputs = views_;
    brought_.shape_key = RequestsMayDiffer(spec) ? ShapeKey(views_) : 0;
    return absl::OkStatus();
  }

  const RequestInputs& brought() const { return brought_; }

 private:
  const inference::ModelInferRequest message_;
  std::vector<ByteSegment> segments_;  // [spec input]
  std::vector<TensorView> views_;      // [spec input]
  PaddedInputs padded_;
  RequestInputs brought_;
};

ModelRequests::ModelRequests() = default;
ModelRequests::~ModelRequests() = default;

absl::StatusOr<std::unique_ptr<ModelRequests>> ModelRequests::Make(
    const ServedModel& model, const RequestPoolOptions& options) {
  std::unique_ptr<ModelRequests> made(new ModelRequests);
  made->advice_ = ContentAdvice(MetadataOf(model), options);
  absl::Status bound;
  const absl::Status drawn = ForEachRequest(
      MetadataOf(model), model.config, options,
      [&](inference::ModelInferRequest& message) {
        auto one = std::make_unique<One>(model.spec, std::move(message));
        bound.Update(one->Bind(model.spec));
        made->inputs_.push_back(one->brought());
        made->requests_.push_back(std::move(one));
      });
  bound.Update(drawn);
  if (!bound.ok()) {
    return bound;
  }
  return made;
}

absl::Status CheckFirstAnswer(Scheduler& scheduler,
                              const RequestInputs& request) {
  auto future =
      Infer(scheduler, {.inputs = request.inputs, .rows = request.rows});
  if (!future.ok()) {
    return absl::Status(
        future.status().code(),
        absl::StrCat("first request: ", future.status().message()));
  }
  const Reply reply = future->Get();
  if (!reply.outcome.ok()) {
    return absl::Status(reply.outcome.code,
                        absl::StrCat("first request: ", reply.outcome.text));
  }
  if (reply.rows != request.rows) {
    return absl::InternalError(absl::StrCat(
        "first request: expected ", request.rows, " rows, got ", reply.rows));
  }
  return absl::OkStatus();
}

}  // namespace ferry::bench

// Implements CompleteConfig: copies a found spec into a config's fields.
#include "models/config/config_completion.h"

#include "google/protobuf/text_format.h"
#include "models/config/config_reader.h"
#include "models/config/model_overrides.h"

namespace ferry {
namespace {

template <typename Tensors>
void Fill(const std::vector<TensorSpec>& specs, Tensors& tensors) {
  for (const TensorSpec& spec : specs) {
    auto& tensor = *tensors.Add();
    tensor.set_name(spec.name);
    tensor.set_data_type(ToConfigType(spec.type));
    tensor.mutable_dims()->Add(spec.dims.begin(), spec.dims.end());
  }
}

}  // namespace

bool IsIncomplete(const ModelOptions& options) {
  return options.spec.inputs.empty() || options.spec.outputs.empty();
}

std::string CompleteConfig(const ModelSpec& found, Batching batching,
                           ModelConfig& config) {
  ModelOptions& options = config.options;
  inference::ModelConfig added;
  if (options.spec.inputs.empty()) {
    Fill(found.inputs, *added.mutable_input());
    if (options.spec.max_batch_size != found.max_batch_size) {
      added.set_max_batch_size(found.max_batch_size);
    }
    if (found.max_batch_size > 0 && batching == Batching::kAcrossRequests &&
        !config.message.has_dynamic_batching()) {
      options.batching = batching;
      added.mutable_dynamic_batching();
      if (options.max_wait > Duration::zero()) {  // by a flag
        SetMaxWait(options.max_wait, added);
      }
    }
  }
  if (options.spec.outputs.empty()) {
    Fill(found.outputs, *added.mutable_output());
    options.label_files.resize(found.outputs.size());
  }
  options.spec = found;
  config.message.MergeFrom(added);
  config.kept.MergeFrom(added);
  for (auto* const message : {&config.message, &config.kept}) {
    SetMaxBatchSize(found.max_batch_size, *message);
  }
  std::string lines;
  google::protobuf::TextFormat::PrintToString(added, &lines);
  return lines;
}

}  // namespace ferry

// Implements EncoderModule, the parameters, and the network that serves them.
#include "models/torch/networks/encoder.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "models/torch/networks/fused_ops.h"
#include "models/torch/types.h"

namespace ferry {
namespace {

using torch::nn::Embedding;
using torch::nn::LayerNorm;
using torch::nn::LayerNormOptions;
using torch::nn::Linear;

constexpr double kMinTokens = 1e-9;   // a row without tokens divides by this
constexpr double kMinLength = 1e-12;  // an embedding of length 0 by this
// Sequences are cut to a multiple of this many tokens.
constexpr int64_t kTokenStep = 16;
constexpr int64_t kTypicalTokens = 128;

LayerNorm Norm(const EncoderShape& shape) {
  return LayerNorm(LayerNormOptions({shape.hidden}).eps(shape.norm_epsilon));
}

// A parent for parameters that are named with one more part.
std::shared_ptr<torch::nn::Module> Group() {
  return std::make_shared<torch::nn::Module>();
}

// Returns what attention adds to the scores: 0 where a token counts, else the
// lowest number, [rows, 1, 1, tokens].
at::Tensor ScoreMask(const at::Tensor& mask, at::ScalarType type) {
  const at::TensorOptions options = mask.options().dtype(type);
  const at::Tensor zero = at::zeros({}, options);
  const at::Tensor lowest = at::full(
      {},
      type == at::kBFloat16 ? -3.3e38 : std::numeric_limits<float>::lowest(),
      options);
  return at::where(mask.ne(0), zero, lowest).unsqueeze(1).unsqueeze(1);
}

// [rows, tokens, hidden] -> [rows, hidden] of length 1, in fp32.
at::Tensor Pool(const at::Tensor& x, const at::Tensor& mask) {
  const at::Tensor weights = mask.ne(0).to(at::kFloat).unsqueeze(1);
  const at::Tensor sum = at::bmm(weights, x.to(at::kFloat)).squeeze(1);
  const at::Tensor mean = sum / weights.sum(2).clamp_min(kMinTokens);
  return mean / mean.norm(2, 1, true).clamp_min(kMinLength);
}

// [rows, tokens, hidden] -> [rows, heads, tokens, hidden / heads], a view.
at::Tensor SplitHeads(const at::Tensor& x, int64_t heads) {
  return x.view({x.size(0), x.size(1), heads, x.size(2) / heads})
      .transpose(1, 2);
}

at::Tensor Attend(const at::Tensor& query, const at::Tensor& key,
                  const at::Tensor& value, const at::Tensor& mask) {
  return at::scaled_dot_product_attention(query, key, value, mask)
      .transpose(1, 2)
      .flatten(2);
}

// Layer normalization with its own copy of the parameters.
class FusedNorm {
 public:
  FusedNorm(const torch::nn::LayerNormImpl& norm, at::ScalarType type,
            at::Device device)
      : weight_(PlaceWeights(norm.weight, type, device)),
        bias_(PlaceWeights(norm.bias, type, device)),
        epsilon_(norm.options.eps()) {}

  at::Tensor operator()(const at::Tensor& x) const {
    return at::layer_norm(x, weight_.sizes(), weight_, bias_, epsilon_);
  }

 private:
  const at::Tensor weight_;
  const at::Tensor bias_;
  const double epsilon_;
};

class Layer {
 public:
  Layer(const EncoderLayerModule& module, const FusedLinear::Options& options)
      : heads_(module.heads),
        query_key_value_(
            at::cat({module.query->weight, module.key->weight,
                     module.value->weight}),
            at::cat({module.query->bias, module.key->bias, module.value->bias}),
            options),
        attention_output_(module.attention_output->weight,
                          module.attention_output->bias, options),
        attention_norm_(*module.attention_norm, ToScalarType(options.precision),
                        options.device),
        intermediate_(module.intermediate->weight, module.intermediate->bias,
                      options),
        output_(module.output->weight, module.output->bias, options),
        output_norm_(*module.output_norm, ToScalarType(options.precision),
                     options.device) {}

  at::Tensor operator()(const at::Tensor& x, const at::Tensor& mask) const {
    const std::vector<at::Tensor> parts =
        query_key_value_(x, Activation::kNone).chunk(3, 2);
    const at::Tensor attended =
        Attend(SplitHeads(parts[0], heads_), SplitHeads(parts[1], heads_),
               SplitHeads(parts[2], heads_), mask);
    const at::Tensor y = attention_norm_(attention_output_.Add(attended, x));
    return output_norm_(output_.Add(intermediate_(y, Activation::kGelu), y));
  }

 private:
  const int64_t heads_;
  const FusedLinear query_key_value_;
  const FusedLinear attention_output_;
  const FusedNorm attention_norm_;
  const FusedLinear intermediate_;
  const FusedLinear output_;
  const FusedNorm output_norm_;
};

class EncoderNetwork final : public Network {
 public:
  EncoderNetwork(const EncoderModule& module, const ModelOptions& options,
                 at::Device device)
      : type_(ToScalarType(options.precision)),
        words_(PlaceWeights(module.words->weight, type_, device)),
        // Every token has type 0, so its vector belongs to the position's.
        positions_(PlaceWeights(
            module.positions->weight + module.types->weight[0], type_, device)),
        norm_(*module.norm, type_, device) {
    const FusedLinear::Options layer_options = {
        .precision = options.precision,
        .device = device,
        .rows_hint = kTypicalTokens * std::max(options.spec.max_batch_size, 1)};
    for (const auto& layer : *module.layers) {
      layers_.emplace_back(*layer->as<EncoderLayerModule>(), layer_options);
    }
    ids_place_ = options.spec.inputs[0].name == "input_ids" ? 0 : 1;
  }

  absl::Status Forward(const Values& inputs, Values& outputs) override {
    const at::Tensor& all_ids = inputs[ids_place_].toTensor();
    const at::Tensor& all_mask = inputs[1 - ids_place_].toTensor();
    if (all_ids.size(1) > positions_.size(0)) {
      return absl::InvalidArgumentError("more tokens than positions");
    }
    const int64_t tokens = TokensToCompute(all_mask);
    const at::Tensor ids = all_ids.narrow(1, 0, tokens);
    const at::Tensor mask = all_mask.narrow(1, 0, tokens);
    const at::Tensor valid_ids = ids.clamp(0, words_.size(0) - 1);
    at::Tensor x = norm_(at::embedding(words_, valid_ids) +
                         positions_.narrow(0, 0, tokens));
    const at::Tensor score_mask = ScoreMask(mask, type_);
    for (const Layer& layer : layers_) {
      x = layer(x, score_mask);
    }
    at::Tensor embedding = Pool(x, mask);
    const at::Tensor is_wrong =
        (all_ids.lt(0) | all_ids.ge(words_.size(0))).any(1, /*keepdim=*/true);
    embedding.masked_fill_(is_wrong, std::numeric_limits<float>::quiet_NaN());
    outputs.push_back(std::move(embedding));
    return absl::OkStatus();
  }

 private:
  // Returns the count of columns up to the last that some row keeps; on a
  // device all, as to look would be to wait for it.
  static int64_t TokensToCompute(const at::Tensor& mask) {
    if (!mask.is_cpu()) {
      return mask.size(1);
    }
    const at::Tensor kept = mask.ne(0).any(0).contiguous();
    const bool* const columns = kept.const_data_ptr<bool>();
    int64_t tokens = kept.numel();
    while (tokens > 1 && !columns[tokens - 1]) {
      --tokens;
    }
    return std::min((tokens + kTokenStep - 1) / kTokenStep * kTokenStep,
                    kept.numel());
  }

  const at::ScalarType type_;
  const at::Tensor words_;
  const at::Tensor positions_;
  const FusedNorm norm_;
  std::vector<Layer> layers_;
  size_t ids_place_ = 0;  // among the inputs
};

}  // namespace

EncoderLayerModule::EncoderLayerModule(const EncoderShape& shape)
    : heads(shape.heads),
      query(shape.hidden, shape.hidden),
      key(shape.hidden, shape.hidden),
      value(shape.hidden, shape.hidden),
      attention_output(shape.hidden, shape.hidden),
      attention_norm(Norm(shape)),
      intermediate(shape.hidden, shape.intermediate),
      output(shape.intermediate, shape.hidden),
      output_norm(Norm(shape)) {
  auto attention = register_module("attention", Group());
  auto self = attention->register_module("self", Group());
  self->register_module("query", query);
  self->register_module("key", key);
  self->register_module("value", value);
  auto attention_end = attention->register_module("output", Group());
  attention_end->register_module("dense", attention_output);
  attention_end->register_module("LayerNorm", attention_norm);
  register_module("intermediate", Group())
      ->register_module("dense", intermediate);
  auto end = register_module("output", Group());
  end->register_module("dense", output);
  end->register_module("LayerNorm", output_norm);
}

at::Tensor EncoderLayerModule::forward(const at::Tensor& x,
                                       const at::Tensor& mask) {
  const at::Tensor attended =
      Attend(SplitHeads(query(x), heads), SplitHeads(key(x), heads),
             SplitHeads(value(x), heads), mask);
  const at::Tensor y = attention_norm(attention_output(attended) + x);
  return output_norm(output(at::gelu(intermediate(y))) + y);
}

EncoderModule::EncoderModule(const EncoderShape& shape_of)
    : shape(shape_of),
      words(shape.vocabulary, shape.hidden),
      positions(shape.max_positions, shape.hidden),
      types(shape.token_types, shape.hidden),
      norm(Norm(shape)) {
  auto embeddings = register_module("embeddings", Group());
  embeddings->register_module("word_embeddings", words);
  embeddings->register_module("position_embeddings", positions);
  embeddings->register_module("token_type_embeddings", types);
  embeddings->register_module("LayerNorm", norm);
  for (int64_t i = 0; i < shape.layers; ++i) {
    layers->push_back(EncoderLayerModule(shape));
  }
  register_module("encoder", Group())->register_module("layer", layers);
}

at::Tensor EncoderModule::forward(const at::Tensor& ids,
                                  const at::Tensor& mask) {
  at::Tensor x = words(ids) + positions->weight.narrow(0, 0, ids.size(1)) +
                 types->weight[0];
  x = norm(x);
  const at::Tensor score_mask = ScoreMask(mask, x.scalar_type());
  for (const auto& layer : *layers) {
    x = layer->as<EncoderLayerModule>()->forward(x, score_mask);
  }
  return Pool(x, mask);
}

std::unique_ptr<Network> CompileEncoder(const EncoderModule& module,
                                        const ModelOptions& options,
                                        at::Device device) {
  return std::make_unique<EncoderNetwork>(module, options, device);
}

}  // namespace ferry

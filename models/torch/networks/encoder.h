// EncoderModule is a BERT-style sentence encoder of MiniLM's shape (6 layers of
// 384): it maps token ids to one embedding of unit length.
//
// Inside, in this order: embeddings (word + position + type 0), six layers of
// self-attention and feed-forward with layer normalization after each, the mean
// over the tokens that the mask keeps, division by the length. Mean and length
// are computed in fp32.
//
// Parameters have the names of the published weights ("embeddings.*",
// "encoder.layer.<i>.*"). Two things that such files carry serve nothing here
// and are passed over: "embeddings.position_ids" and "pooler.*".
//
// A row with a token id outside the vocabulary gives NaN: it must not fail the
// rows of others in its batch. Columns that every row of a batch masks at the
// end are not computed; no other column sees them.
//
// Thread safety: EncoderModule is thread-compatible; see Network for the rest.
#ifndef FERRY_MODELS_TORCH_NETWORKS_ENCODER_H_
#define FERRY_MODELS_TORCH_NETWORKS_ENCODER_H_

#include <torch/nn/module.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <memory>

#include "models/config/model_options.h"
#include "models/torch/network.h"

namespace ferry {

struct EncoderShape {
  int64_t vocabulary = 30'522;
  int64_t hidden = 384;
  int64_t layers = 6;
  int64_t heads = 12;
  int64_t intermediate = 1536;
  int64_t max_positions = 512;
  int64_t token_types = 2;
  double norm_epsilon = 1e-12;
};

// One layer; the members' names are those of the parameters.
class EncoderLayerModule : public torch::nn::Module {
 public:
  explicit EncoderLayerModule(const EncoderShape& shape);

  // x [rows, tokens, hidden], mask [rows, 1, 1, tokens] added to the scores.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& mask);

  const int64_t heads;
  torch::nn::Linear query, key, value, attention_output;
  torch::nn::LayerNorm attention_norm;
  torch::nn::Linear intermediate, output;
  torch::nn::LayerNorm output_norm;
};

class EncoderModule : public torch::nn::Module {
 public:
  explicit EncoderModule(const EncoderShape& shape);

  // ids and mask INT64 [rows, tokens] -> [rows, hidden], of length 1.
  at::Tensor forward(const at::Tensor& ids, const at::Tensor& mask);

  const EncoderShape shape;
  torch::nn::Embedding words, positions, types;
  torch::nn::LayerNorm norm;
  torch::nn::ModuleList layers;
};

// The network that serves on `device`: "input_ids" and "attention_mask" to
// "embedding".
std::unique_ptr<Network> CompileEncoder(const EncoderModule& module,
                                        const ModelOptions& options,
                                        at::Device device);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_NETWORKS_ENCODER_H_

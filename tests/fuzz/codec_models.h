// CodecModel is a model that fuzzed requests are for. Most are an echo, so that
// the right reply is known: every data type, fixed and varying shapes, with and
// without a batch dimension.
//
// Thread safety: EchoModel's; the rest is constant.
#ifndef FERRY_TESTS_FUZZ_CODEC_MODELS_H_
#define FERRY_TESTS_FUZZ_CODEC_MODELS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "batcher/sim/echo_model.h"
#include "server/codec/infer_codec.h"

namespace ferry {

struct CodecModel {
  std::string name;
  ModelSpec spec;
  uint64_t serial;
  std::vector<std::vector<std::string>> labels;  // [output]
  // Null where the spec is none of an echo: its requests are decoded only.
  std::unique_ptr<EchoModel> echo;

  ModelView view() const { return {name, spec, serial}; }
};

// Returns the model of that name, the first one where there is none.
const CodecModel& CodecModelNamed(const std::string& name);

}  // namespace ferry

#endif  // FERRY_TESTS_FUZZ_CODEC_MODELS_H_

// Implements AdviceOnFile and AdviceOnBackend by a table of formats.
#include "models/config/not_served.h"

#include <vector>

#include "absl/strings/match.h"

namespace ferry {
namespace {

struct Format {
  std::vector<absl::string_view> endings;   // of files
  std::vector<absl::string_view> backends;  // and platforms
  absl::string_view advice;
};

const std::vector<Format>& Formats() {
  static const std::vector<Format>& formats = *new std::vector<Format>{
      {{".onnx"},
       {"onnxruntime", "onnxruntime_onnx"},
       "ONNX is not served: export the PyTorch model that it was made from, "
       "torch.jit.trace(model, example).save('model.pt')"},
      {{".plan", ".engine", ".trt"},
       {"tensorrt", "tensorrt_plan"},
       "TensorRT engines are not served: export the PyTorch model that it was "
       "built from, torch.jit.trace(model, example).save('model.pt')"},
      {{".savedmodel", ".graphdef", ".pb", ".tflite", ".keras", ".h5"},
       {"tensorflow", "tensorflow_savedmodel", "tensorflow_graphdef"},
       "TensorFlow models are not served: use TensorFlow Serving"},
      {{".py"},
       {"python"},
       "the Python backend is not served: move the code into the client, or "
       "into the model's forward() and export it with torch.jit.script"},
      {{".safetensors", ".bin", ".ckpt"},
       {},
       "weights alone are not served: build the network, load them, and export "
       "it, torch.jit.trace(model, example).save('model.pt')"},
      {{},
       {"ensemble"},
       "ensembles are not served: serve each step as a model of its own and "
       "call one after the other"},
      {{},
       {"vllm", "tensorrtllm"},
       "generative decoding is not served: use vLLM's or TensorRT-LLM's own "
       "server"},
  };
  return formats;
}

}  // namespace

absl::string_view AdviceOnFile(absl::string_view name) {
  for (const Format& format : Formats()) {
    for (absl::string_view ending : format.endings) {
      if (absl::EndsWithIgnoreCase(name, ending)) {
        return format.advice;
      }
    }
  }
  return "";
}

absl::string_view AdviceOnBackend(absl::string_view name) {
  for (const Format& format : Formats()) {
    for (absl::string_view backend : format.backends) {
      if (name == backend) {
        return format.advice;
      }
    }
  }
  return "";
}

}  // namespace ferry

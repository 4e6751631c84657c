// InferDecoder turns the bytes of a ModelInferRequest into a checked
// InferRequest. The way back is infer_response.h.
//
// A tensor's bytes are not copied here: a decoded input is a list of segments
// inside the received slices. A request that says of its tensors what the one
// before it said (InferMessage::is_repeated) is checked for its bytes alone.
//
// Thread safety: thread-compatible.
// Errors: INVALID_ARGUMENT, with what was expected and what
// was found; nothing in a message but what the client sent and what
// ModelMetadata shows.
#ifndef FERRY_SERVER_CODEC_INFER_CODEC_H_
#define FERRY_SERVER_CODEC_INFER_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "batcher/infer_request.h"
#include "server/codec/infer_message.h"
#include "server/codec/infer_parameters.h"
#include "tensor/padding.h"
#include "tensor/tensor.h"

namespace ferry {

// A model as the codec sees it. Borrowed; outlives the decoder's use.
struct ModelView {
  const std::string& name;
  const ModelSpec& spec;
  uint64_t serial = 0;  // differs from that of any other model; 0: unknown
};

// An element of type BYTES counts as this many bytes more than it has: a model
// makes a string of it.
inline constexpr size_t kBytesOfText = 80;

class InferDecoder {
 public:
  // Replaces what it holds. The segments stay alive and in place until Clear().
  absl::Status Parse(absl::Span<const ByteSegment> message) {
    absl::Status status = message_.Parse(message);
    if (!message_.is_repeated()) {
      bound_ = {};
    }
    return status;
  }

  // What Parse() found.
  const std::string& model_name() const {
    return message_.fields().model_name();
  }
  const std::string& model_version() const {
    return message_.fields().model_version();
  }
  const std::string& id() const { return message_.fields().id(); }

  // Checks the message against the model and fills inputs, rows, bytes and
  // shape_key of the request, which then points into this decoder.
  absl::Status Bind(const ModelView& model, InferRequest& request);

  // What Bind() found: outputs to answer, as indices of ModelSpec::outputs in
  // the order the client wants, and what else it says.
  absl::Span<const size_t> outputs() const { return outputs_; }
  // How many classes are wanted of each of them, 0: its values; empty where
  // none is of any.
  absl::Span<const int64_t> classes() const { return classes_; }
  const RequestParameters& parameters() const { return parameters_; }

  void Clear();

 private:
  using Input = inference::ModelInferRequest::InferInputTensor;

  absl::Status BindAnew(const ModelView& model, InferRequest& request);
  // Binds the raw contents as those of the last request were. Returns false
  // where they do not fit as those did: then BindAnew() says why.
  bool BindAgain(const ModelView& model, InferRequest& request);
  absl::Status MatchInputs(const ModelView& model);
  absl::Status BindInput(const ModelView& model, size_t index,
                         InferRequest& request);
  absl::Status BindShape(const ModelView& model, size_t index,
                         InferRequest& request);
  absl::Status BindBytes(const ModelView& model, size_t index, int32_t rows);
  absl::Status BindTyped(const ModelView& model, size_t index, int64_t count);
  // Pads what was bound, and makes masks.
  absl::Status BindPadding(const ModelView& model, int32_t rows);
  absl::Status BindOutputs(const ModelView& model);

  InferMessage message_;
  std::vector<int> sent_as_;  // [spec input]: index of it in the message
  std::vector<TensorView> inputs_;
  PaddedInputs padded_;
  std::vector<int64_t> elements_;  // [spec input]: in all rows
  std::vector<size_t> outputs_;
  std::vector<int64_t> classes_;
  RequestParameters parameters_;
  // Describes the last request that was bound, if it was raw; serial 0: none.
  struct Bound {
    uint64_t serial = 0;
    int32_t rows = 0;
    size_t bytes = 0;
    uint64_t shape_key = 0;
  };
  Bound bound_;
  std::vector<uint64_t> raw_bytes_;  // [spec input]: of the bound request
  // [spec input]: typed contents as a run, and its bytes.
  std::vector<ByteSegment> typed_segments_;
  std::vector<std::vector<std::byte>> typed_bytes_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_CODEC_INFER_CODEC_H_

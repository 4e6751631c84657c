// InferDecoder turns the bytes of a ModelInferRequest into a checked
// InferRequest. The way back is infer_response.h.
//
// A tensor's bytes are not copied here: a decoded input is a list of segments
// inside the received slices. A request that says of its tensors what the one
// before it said (InferMessage::is_repeated) is checked for its bytes alone.
// Inputs that lie in shared memory are copied, and checked as they were copied.
//
// Thread safety: thread-compatible.
// Errors: INVALID_ARGUMENT, with what was expected and what
// was found; nothing in a message but what the client sent and what
// ModelMetadata shows. Of shared memory also those of SharedRegions.
#ifndef FERRY_SERVER_CODEC_INFER_CODEC_H_
#define FERRY_SERVER_CODEC_INFER_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "batcher/infer_request.h"
#include "server/codec/infer_message.h"
#include "server/codec/infer_parameters.h"
#include "server/codec/shared_regions.h"
#include "tensor/padding.h"
#include "tensor/tensor.h"

namespace ferry {

// A model as the codec sees it. Borrowed; outlives the decoder's use.
struct ModelView {
  const std::string& name;
  const ModelSpec& spec;
  uint64_t serial = 0;  // differs from that of any other model; 0: unknown
};

// The shared memory of a request's client. Borrowed as ModelView.
struct ClientRegions {
  const SharedRegions* regions = nullptr;  // null: it is not offered
  const std::string* client = nullptr;     // its name
  uint64_t max_bytes = 0;  // that all inputs of a request may have there
};

// Where an output goes: into the region, or, where that is null, the message.
struct OutputRegion {
  RegionRange range;
  SharedRegions::Use region;
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
  absl::Status Bind(const ModelView& model, InferRequest& request,
                    const ClientRegions& regions = {});

  // Copies what lies in shared memory, once the request that was bound is
  // admitted, and checks it: until then its bytes are not there.
  absl::Status CopyRegions(const ModelView& model);

  // What Bind() found: outputs to answer, as indices of ModelSpec::outputs in
  // the order the client wants, and what else it says.
  absl::Span<const size_t> outputs() const { return outputs_; }
  // How many classes are wanted of each of them, 0: its values; empty where
  // none is of any.
  absl::Span<const int64_t> classes() const { return classes_; }
  // Where each of them goes; empty where all are in the message.
  absl::Span<const OutputRegion> output_regions() const {
    return output_regions_;
  }
  const RequestParameters& parameters() const { return parameters_; }

  void Clear();

 private:
  using Input = inference::ModelInferRequest::InferInputTensor;

  absl::Status BindAnew(const ModelView& model, InferRequest& request);
  // Binds the raw contents as those of the last request were. Returns false
  // where they do not fit as those did: then BindAnew() says why.
  bool BindAgain(const ModelView& model, InferRequest& request);
  absl::Status MatchInputs(const ModelView& model);
  // Finds the inputs that lie in shared memory.
  absl::Status FindRanges();
  absl::Status BindInput(const ModelView& model, size_t index,
                         InferRequest& request);
  absl::Status BindShape(const ModelView& model, size_t index,
                         InferRequest& request);
  absl::Status BindBytes(const ModelView& model, size_t index, int32_t rows);
  absl::Status BindTyped(const ModelView& model, size_t index, int64_t count);
  // Finds the region of an input, and makes room for its bytes.
  absl::Status PlaceInRegion(size_t index, const RegionRange& range);
  // Pads what was bound, and makes masks.
  absl::Status BindPadding(const ModelView& model, int32_t rows);
  absl::Status BindOutputs(const ModelView& model);
  // Finds that of the last output.
  absl::Status FindOutputRegion(const OutputParameters& parameters);

  InferMessage message_;
  std::vector<int> sent_as_;  // [spec input]: index of it in the message
  std::vector<TensorView> inputs_;
  PaddedInputs padded_;
  std::vector<int64_t> elements_;  // [spec input]: in all rows
  std::vector<size_t> outputs_;
  std::vector<int64_t> classes_;
  std::vector<OutputRegion> output_regions_;
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
  // [message input]: where its bytes are. Empty where no input has a region.
  struct Place {
    RegionRange range;
    size_t raw = 0;  // raw_input_contents, where range has no region
  };
  std::vector<Place> places_;
  ClientRegions regions_;  // while a request is bound
  // An input that lies in shared memory.
  struct Copy {
    size_t input = 0;  // of the spec
    SharedRegions::Use region;
    uint64_t offset = 0;
    size_t size = 0;
    std::unique_ptr<std::byte[]> bytes;
  };
  std::vector<Copy> copies_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_CODEC_INFER_CODEC_H_

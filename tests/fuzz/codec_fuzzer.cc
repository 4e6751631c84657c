// codec_fuzzer fuzzes the codec: the bytes of a ModelInferRequest, as they come
// off the wire, go through decoder, gather and encoder.
//
// The input is the message and nothing else. Where it is cut into slices, and
// how it differs from the message after it, follow from its bytes.
//
// What must hold, beside that nothing is read or written where it may not be:
//   1. What Ferry parses, protobuf parses, with the same fields. What protobuf
//      parses, Ferry does when it is written as protobuf writes it, but for
//      groups and what passes a bound that the refusal names.
//   2. A request that is taken fits its model, and its rows are the sender's.
//   3. A decoder that has seen other messages makes of a message what a new
//      one does, however it is cut.
//   4. Rows that crossed a batch come back in a reply that protobuf reads.
#include <google/protobuf/stubs/logging.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "base/check.h"
#include "proto/inference.pb.h"
#include "tests/fuzz/codec_models.h"
#include "tests/fuzz/decoding_checks.h"
#include "tests/fuzz/message_mutator.h"
#include "tests/fuzz/reply_checks.h"
#include "tests/server/codec/message_bytes.h"

namespace ferry {
namespace {

using inference::ModelInferRequest;

constexpr size_t kMaxCuts = 4;
constexpr int kMaxFittedBytes = 4096;

// Numbers that follow from the input.
class Choices {
 public:
  explicit Choices(const std::string& input)
      : random_(static_cast<uint32_t>(std::hash<std::string>()(input))) {}

  // Returns less than `bound`.
  size_t Below(size_t bound) { return random_() % bound; }

 private:
  std::minstd_rand random_;
};

std::vector<size_t> Cuts(size_t size, Choices& choices) {
  std::vector<size_t> sizes(choices.Below(kMaxCuts + 1));
  for (size_t& piece : sizes) {
    piece = choices.Below(size / 2 + 2);
  }
  return sizes;
}

// The message that comes after: with another id, cut short, or with a byte
// changed.
std::string Changed(std::string message, Choices& choices) {
  const size_t at = message.empty() ? 0 : choices.Below(message.size());
  switch (choices.Below(4)) {
    case 0:
      if (!message.empty()) {
        message[at] = static_cast<char>(choices.Below(256));
      }
      return message;
    case 1:
      return message.substr(0, at);
    default:
      return message + std::string("\x1a\x01", 2) +
             static_cast<char>('0' + choices.Below(200));
  }
}

void CheckParse(const std::string& bytes, Choices& choices) {
  ModelInferRequest reference;
  const bool is_message = reference.ParseFromString(bytes);
  const MessageBytes pieces(bytes, Cuts(bytes.size(), choices));
  InferMessage message;
  const absl::Status status = message.Parse(pieces.segments());
  if (status.ok()) {
    Check(is_message, "protobuf parses what Ferry does");
    return CheckFields(message, reference);
  }
  CheckRefusal(status, "");
  if (!is_message) {
    return;
  }
  reference.DiscardUnknownFields();
  const MessageBytes canonical(reference.SerializeAsString());
  const absl::Status again = message.Parse(canonical.segments());
  if (!again.ok()) {
    Check(absl::StrContains(again.message(), "expected at most"),
          "Ferry parses what protobuf writes");
    return;
  }
  CheckFields(message, reference);
}

struct Decoding {
  Decoding(const std::string& bytes, const std::vector<size_t>& cuts,
           InferDecoder& its_decoder)
      : pieces(bytes, cuts), decoder(its_decoder) {
    status = decoder.Parse(pieces.segments());
    if (status.ok()) {
      model = &CodecModelNamed(decoder.model_name());
      status = decoder.Bind(model->view(), request);
    }
    if (!status.ok()) {
      CheckRefusal(status, decoder.id());
      return;
    }
    ModelInferRequest reference;
    Check(reference.ParseFromString(bytes), "what is taken is a message");
    CheckBound(model->spec, reference, decoder, request);
  }

  MessageBytes pieces;
  InferDecoder& decoder;
  const CodecModel* model = nullptr;
  InferRequest request;
  absl::Status status;
};

void CheckMessage(const std::string& bytes) {
  Choices choices(bytes);
  CheckParse(bytes, choices);
  InferDecoder kept;
  InferDecoder fresh;
  {
    const Decoding first(bytes, Cuts(bytes.size(), choices), kept);
    kept.Clear();
  }
  const std::string next = Changed(bytes, choices);
  Decoding again(next, Cuts(next.size(), choices), kept);
  Decoding expected(next, Cuts(next.size(), choices), fresh);
  Check(again.status == expected.status, "a kept decoder refuses as a new one");
  if (!again.status.ok()) {
    return;
  }
  CheckSame(kept, again.request, fresh, expected.request);
  if (again.model->echo) {
    CheckReplies(*again.model,
                 {{kept, again.request}, {fresh, expected.request}});
  }
}

// Makes each raw content as long as its input's shape says, where that is
// short: else few changes of a shape would be taken.
void FitContents(ModelInferRequest& request) {
  for (int i = 0;
       i < request.raw_input_contents_size() && i < request.inputs_size();
       ++i) {
    const std::optional<DataType> type =
        ParseDataType(request.inputs(i).datatype());
    int64_t bytes =
        type.has_value() ? static_cast<int64_t>(ElementSize(*type)) : 0;
    for (const int64_t dim : request.inputs(i).shape()) {
      bytes = dim >= 0 && dim <= kMaxFittedBytes ? bytes * dim : 0;
      bytes = bytes <= kMaxFittedBytes ? bytes : 0;
    }
    if (bytes > 0) {
      request.mutable_raw_input_contents(i)->resize(static_cast<size_t>(bytes));
    }
  }
}

}  // namespace
}  // namespace ferry

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  // Protobuf says on stderr where a text is no UTF-8.
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ferry::CheckMessage(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

// Half of the changes are of fields, half of bytes.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                          size_t max_size, unsigned int seed) {
  std::minstd_rand random(seed);
  inference::ModelInferRequest request;
  if (random() % 2 == 0 ||
      !request.ParseFromArray(data, static_cast<int>(size))) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  ferry::MutateMessage(random, LLVMFuzzerMutate, request);
  if (random() % 4 != 0) {
    ferry::FitContents(request);
  }
  const std::string bytes = request.SerializeAsString();
  if (bytes.size() > max_size) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

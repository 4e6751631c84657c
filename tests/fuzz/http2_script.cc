// Implements ReadScript: steps, and the frames that they make.
#include "tests/fuzz/http2_script.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "proto/inference.pb.h"

namespace ferry {
namespace {

constexpr size_t kMaxConnections = 4;
constexpr size_t kMaxBytes = 128 << 10;
constexpr int kMaxHonestCalls = 50;  // less than a connection may have at once
constexpr absl::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// RFC 9113, 6.
enum FrameType : uint8_t {
  kData = 0,
  kHeaders = 1,
  kResetStream = 3,
  kSettings = 4,
  kPing = 6,
  kGoaway = 7,
  kWindowUpdate = 8,
  kContinuation = 9,
};
constexpr uint8_t kEndStream = 0x1;
constexpr uint8_t kAck = 0x1;
constexpr uint8_t kEndHeaders = 0x4;
// What a step's number says of a HEADERS frame, from its lowest bit on.
constexpr std::array<uint8_t, 4> kHeaderFlags = {kEndStream, kEndHeaders, 0x8,
                                                 0x20};
constexpr char kInfer[] = "inference.GRPCInferenceService/ModelInfer";
constexpr char kStream[] = "inference.GRPCInferenceService/ModelStreamInfer";
constexpr char kWatch[] = "grpc.health.v1.Health/Watch";
// What a step's number calls.
constexpr std::array<const char*, 16> kMethods = {
    kInfer,
    "inference.GRPCInferenceService/ServerLive",
    "inference.GRPCInferenceService/ModelReady",
    kStream,
    "inference.GRPCInferenceService/ServerReady",
    "inference.GRPCInferenceService/ServerMetadata",
    "inference.GRPCInferenceService/ModelMetadata",
    "inference.GRPCInferenceService/ModelConfig",
    "inference.GRPCInferenceService/ModelStatistics",
    "inference.GRPCInferenceService/RepositoryIndex",
    "inference.GRPCInferenceService/RepositoryModelLoad",
    "inference.GRPCInferenceService/TraceSetting",
    "grpc.health.v1.Health/Check",
    kWatch,
    "ferry.v1.Admin/GetRuntimeOptions",
    "inference.GRPCInferenceService/None"};

std::string Number(uint32_t value, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    text.push_back(static_cast<char>(value >> shift));
  }
  return text;
}

std::string Frame(uint8_t type, uint8_t flags, uint32_t stream,
                  absl::string_view payload) {
  return absl::StrCat(Number(static_cast<uint32_t>(payload.size()), 3),
                      Number(type, 1), Number(flags, 1), Number(stream, 4),
                      payload);
}

// RFC 7541, 6.2.2: a literal that goes into no table. Shorter than 127 bytes.
std::string Field(absl::string_view name, absl::string_view value) {
  return absl::StrCat(Number(0, 1),
                      Number(static_cast<uint32_t>(name.size()), 1), name,
                      Number(static_cast<uint32_t>(value.size()), 1), value);
}

std::string Fields(const char* method) {
  return absl::StrCat(Field(":method", "POST"), Field(":scheme", "http"),
                      Field(":path", absl::StrCat("/", method)),
                      Field(":authority", "fuzz"), Field("te", "trailers"),
                      Field("content-type", "application/grpc"));
}

std::string Message(absl::string_view content, char is_compressed = 0) {
  return absl::StrCat(Number(static_cast<uint8_t>(is_compressed), 1),
                      Number(static_cast<uint32_t>(content.size()), 4),
                      content);
}

std::string InferContent(const std::string& model, int64_t rows) {
  inference::ModelInferRequest request;
  request.set_model_name(model);
  request.set_id("fuzz");
  auto& input = *request.add_inputs();
  input.set_name("x");
  input.set_datatype("INT32");
  input.add_shape(rows);
  input.add_shape(2);
  request.add_raw_input_contents(
      std::string(static_cast<size_t>(rows) * 2 * sizeof(int32_t), 'i'));
  return request.SerializeAsString();
}

// What step 3 sends, by its number.
std::string MessageOf(uint8_t number) {
  static const auto* const one = new std::string(InferContent(kScriptModel, 1));
  static const auto* const full =
      new std::string(InferContent(kScriptModel, 8));
  switch (number % 8) {
    case 0:
      return Message(*one);
    case 1:
      return Message(*full);
    case 2:
      return absl::StrCat(Message(*one), Message(*one));
    case 3:
      return Message(*one, 1);
    case 4:
      return absl::StrCat(Number(0, 1), Number(UINT32_MAX, 4), *one);
    case 5:
      return Message("");
    case 6:
      return Message(one->substr(0, one->size() / 2));
    default:
      return Message(InferContent("none", 1));
  }
}

bool IsInfer(const char* method) {
  return method == kInfer || method == kStream;
}

class Script {
 public:
  explicit Script(absl::Span<const uint8_t> input) : input_(input) {
    Begin(kPreface);
  }

  std::vector<ScriptedConnection> Read() {
    while (!input_.empty()) {
      const uint8_t step = Byte();
      const uint8_t number = step >> 4;
      if (step % 16 == 0) {
        if (connections_.size() == kMaxConnections) {
          break;
        }
        Begin(number == 1 ? "" : kPreface);
      } else if (step % 16 == 15) {
        Repeat(number);
      } else {
        last_ = StepBytes(step % 16, number);
        Append(last_);
      }
    }
    return std::move(connections_);
  }

 private:
  ScriptedConnection& connection() { return connections_.back(); }

  void Begin(absl::string_view preface) {
    connections_.push_back({.bytes = std::string(preface)});
    connection().is_honest = !preface.empty();
    if (!preface.empty()) {
      connection().bytes += Frame(kSettings, 0, 0, "");
    }
    stream_ = UINT32_MAX;  // the next is 1
    last_.clear();
  }

  void Append(absl::string_view bytes) {
    if (connection().bytes.size() + bytes.size() <= kMaxBytes) {
      absl::StrAppend(&connection().bytes, bytes);
    } else {
      connection().is_honest = false;
    }
  }

  void Repeat(uint8_t number) {
    connection().is_honest = false;  // a call would be twice on a stream
    for (int times = 1 << number % 8; times > 0; --times) {
      Append(last_);
    }
  }

  uint8_t Byte() {
    if (input_.empty()) {
      return 0;
    }
    const uint8_t byte = input_.front();
    input_.remove_prefix(1);
    return byte;
  }

  std::string Bytes(size_t count) {
    const auto bytes = input_.first(std::min(count, input_.size()));
    input_.remove_prefix(bytes.size());
    return std::string(bytes.begin(), bytes.end());
  }

  uint32_t NextStream() { return stream_ += 2; }

  std::string Call(const char* method) {
    const uint32_t stream = NextStream();
    const std::string content = IsInfer(method) ? MessageOf(0)
                                                : Message(
                                                      "\x0a\x04"
                                                      "echo");
    connection().calls += method == kWatch ? 0 : 1;
    if (connection().calls > kMaxHonestCalls) {
      connection().is_honest = false;
    }
    return absl::StrCat(Frame(kHeaders, kEndHeaders, stream, Fields(method)),
                        Frame(kData, kEndStream, stream, content));
  }

  std::string StepBytes(uint8_t step, uint8_t number) {
    if (step == 1) {
      return Call(kMethods[number]);
    }
    if (step == 7) {
      return Frame(kSettings, kAck, 0, "");
    }
    connection().is_honest = false;
    switch (step) {
      case 2:
        return Frame(kHeaders, kEndHeaders, NextStream(),
                     Fields(kMethods[number]));
      case 3:
        return Frame(kData, number >= 8 ? kEndStream : 0, stream_,
                     MessageOf(number));
      case 4:
        return Frame(kData, kEndStream, stream_, Message(Bytes(Byte())));
      case 5:
        return Frame(kResetStream, 0, stream_ - 2 * number, Number(8, 4));
      case 6:
        return Frame(kSettings, 0, 0, Number(number, 2) + Bytes(4));
      case 8:
        return Frame(kWindowUpdate, 0, number == 0 ? 0 : stream_, Bytes(4));
      case 9:
        return Frame(kPing, number % 2, 0, "12345678");
      case 10:
        return Frame(kGoaway, 0, 0, Number(0, 4) + Number(number, 4));
      case 11:
        return Frame(kContinuation, static_cast<uint8_t>(number << 2), stream_,
                     Bytes(Byte()));
      case 12: {
        uint8_t flags = 0;
        for (size_t i = 0; i < kHeaderFlags.size(); ++i) {
          flags |= (number >> i & 1) != 0 ? kHeaderFlags[i] : 0;
        }
        return Frame(kHeaders, flags, NextStream(), Bytes(Byte()));
      }
      case 13: {
        const uint8_t type = Byte();
        const uint8_t flags = Byte();
        const uint8_t stream = Byte();
        return Frame(type, flags, stream, Bytes(Byte()));
      }
      default:
        return Bytes(Byte());
    }
  }

  absl::Span<const uint8_t> input_;
  std::vector<ScriptedConnection> connections_;
  uint32_t stream_ = 0;  // the last of the connection
  std::string last_;     // what the step before sent
};

}  // namespace

std::vector<ScriptedConnection> ReadScript(absl::Span<const uint8_t> input) {
  return Script(input).Read();
}

std::string LastPing() { return Frame(kPing, 0, 0, "the last"); }

}  // namespace ferry

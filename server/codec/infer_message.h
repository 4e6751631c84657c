// InferMessage reads a received ModelInferRequest, tensors where they lie.
//
// It walks the tags of the request and of its inputs and outputs itself. It
// gives only the small fields to protobuf, and records where the contents of
// tensors are, raw or typed: protobuf would copy each raw one into a string,
// and build up to 24 times the bytes of typed ones. A client repeats itself:
// small fields that are, byte for byte and but for the id, those of the message
// before are not parsed again.
//
// Invariants:
//   1. Memory and time are bounded by the message: before anything is parsed,
//      it has at most kMaxTensors inputs, outputs, raw contents, and parameters
//      of all of them, kMaxFields fields in all, kMaxTypedBytes of typed
//      contents and kMaxFieldBytes of small fields.
//   2. It reuses its memory: in steady state Parse() allocates nothing but
//      the nodes of `parameters` maps.
//
// Thread safety: thread-compatible.
// Errors: INVALID_ARGUMENT for what is no ModelInferRequest or passes a bound.
#ifndef FERRY_SERVER_CODEC_INFER_MESSAGE_H_
#define FERRY_SERVER_CODEC_INFER_MESSAGE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "proto/inference.pb.h"
#include "server/codec/typed_contents.h"
#include "server/codec/wire_reader.h"
#include "tensor/tensor.h"

namespace ferry {

class InferMessage {
 public:
  static constexpr size_t kMaxTensors = 1024;
  static constexpr size_t kMaxFields = 1 << 16;
  static constexpr size_t kMaxTypedBytes = size_t{16} << 20;
  static constexpr size_t kMaxFieldBytes = size_t{1} << 20;

  // Replaces what it holds. The segments stay alive and in place as long as the
  // contents are used.
  absl::Status Parse(absl::Span<const ByteSegment> message);

  // All fields but the contents of tensors, and none that is unknown.
  const inference::ModelInferRequest& fields() const { return fields_; }

  size_t raw_count() const { return raw_.size(); }
  // The pieces of raw_input_contents[i]. REQUIRES: i < raw_count().
  absl::Span<const ByteSegment> raw(size_t i) const {
    return PiecesOf(raw_[i].pieces);
  }
  size_t raw_bytes(size_t i) const { return raw_[i].bytes; }

  // Whether inputs[i] has typed contents; then what they are, and their pieces.
  bool has_typed(size_t i) const { return typed_[i].is_given; }
  const TypedContents& typed(size_t i) const { return typed_[i].contents; }
  absl::Span<const ByteSegment> typed_pieces(size_t i) const {
    return PiecesOf(typed_[i].pieces);
  }

  // Whether all fields but id and raw contents are those of the last message
  // that was parsed: then fields() has not changed otherwise, nor moved.
  bool is_repeated() const { return is_repeated_; }

  // Forgets the message but its small fields; gives back memory beyond what
  // small messages need.
  void Clear();

 private:
  struct Pieces {  // in segments_
    size_t first = 0;
    size_t count = 0;
  };
  struct RawContent {
    Pieces pieces;
    size_t bytes = 0;
  };
  struct TypedInput {
    bool is_given = false;
    Pieces pieces;
    TypedContents contents;
  };

  absl::Span<const ByteSegment> PiecesOf(const Pieces& pieces) const {
    return absl::MakeConstSpan(segments_).subspan(pieces.first, pieces.count);
  }

  absl::Status Walk(WireReader reader);
  absl::Status TakeRaw(WireReader& reader);
  absl::Status TakeTensor(uint32_t field, WireReader& reader);
  absl::Status TakeTyped(WireReader& reader);
  bool TakeId(WireReader reader);
  absl::Status CountOne(uint32_t field);
  absl::Status CountField();
  // Appends what lies from `begin` to `end` to the small fields.
  absl::Status KeepField(WireReader begin, const WireReader& end);

  inference::ModelInferRequest fields_;
  std::vector<ByteSegment> segments_;  // of all contents
  std::vector<RawContent> raw_;
  std::vector<TypedInput> typed_;  // [input]
  size_t typed_bytes_ = 0;
  size_t field_count_ = 0;
  size_t input_count_ = 0;
  size_t output_count_ = 0;
  size_t parameter_count_ = 0;
  std::string small_;  // the fields that protobuf parses
  std::vector<ByteSegment> id_segments_;
  bool has_plain_id_ = true;  // fields_ has its id from id_segments_
  bool is_repeated_ = false;
  std::string kept_;  // the bytes that fields_ was parsed from; empty: none
};

}  // namespace ferry

#endif  // FERRY_SERVER_CODEC_INFER_MESSAGE_H_

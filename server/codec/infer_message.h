// InferMessage reads a received ModelInferRequest, tensors where they lie.
//
// It walks the top-level tags itself, hands the small fields to protobuf, and
// records only where the raw tensor contents are: protobuf would copy each
// into a string. A client repeats itself: small fields that are, byte for byte
// and but for the id, those of the message before are not parsed again.
//
// Invariants:
//   1. Memory is bounded by the message: at most kMaxTensors inputs, outputs,
//      raw contents and parameters each, and kMaxFieldBytes of all but raw
//      contents, are looked at before anything is parsed.
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
#include "server/codec/wire_reader.h"
#include "tensor/tensor.h"

namespace ferry {

class InferMessage {
 public:
  static constexpr size_t kMaxTensors = 1024;
  static constexpr size_t kMaxFieldBytes = size_t{16} << 20;
  // Each goes to protobuf by itself; tensors and raw contents in turn make
  // fewer.
  static constexpr size_t kMaxStretches = 8192;

  // Replaces what it holds. The segments stay alive and in place as long as the
  // raw contents are used.
  absl::Status Parse(absl::Span<const ByteSegment> message);

  // All fields but raw_input_contents.
  const inference::ModelInferRequest& fields() const { return fields_; }

  size_t raw_count() const { return raw_.size(); }
  // The pieces of raw_input_contents[i]. REQUIRES: i < raw_count().
  absl::Span<const ByteSegment> raw(size_t i) const;
  size_t raw_bytes(size_t i) const { return raw_[i].bytes; }

  // Whether all fields but id and raw contents are those of the last message
  // that was parsed: then fields() has not changed otherwise, nor moved.
  bool is_repeated() const { return is_repeated_; }

  // Forgets the message but its small fields; gives back memory beyond what
  // small messages need.
  void Clear();

 private:
  struct RawContent {
    size_t first_segment;  // in raw_segments_
    size_t segment_count;
    size_t bytes;
  };

  // Fields that follow each other.
  struct Stretch {
    WireReader begin;
    size_t bytes = 0;
  };

  absl::Status Walk(WireReader reader);
  absl::Status TakeRaw(WireReader& reader);
  absl::Status TakeFields(const Stretch& stretch);
  bool TakeId(WireReader reader);
  absl::Status ParseFields();
  bool AreFieldsKept() const;
  void KeepFields();

  inference::ModelInferRequest fields_;
  std::vector<ByteSegment> raw_segments_;
  std::vector<RawContent> raw_;
  std::vector<ByteSegment> field_segments_;  // of all small fields but the id
  size_t field_bytes_ = 0;                   // in field_segments_
  size_t stretches_ = 0;
  std::vector<ByteSegment> id_segments_;
  bool has_plain_id_ = true;  // fields_ has its id from id_segments_
  bool is_repeated_ = false;
  std::string kept_;  // the bytes that fields_ was parsed from; empty: none
};

}  // namespace ferry

#endif  // FERRY_SERVER_CODEC_INFER_MESSAGE_H_

// Measures what it costs to make a checked request of received bytes: Ferry's
// decoder, and protobuf's parser as the generated API of gRPC calls it.
//
// Both begin with gRPC's buffer. The decoder also checks the request against
// the model and leaves the tensor where it is; protobuf alone copies it out and
// checks nothing. bytes_copied counts a tensor's bytes that are not where they
// were received.
#include <google/protobuf/arena.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "bench/micro/counted.h"
#include "bench/micro/wire_messages.h"
#include "server/codec/infer_codec.h"

namespace ferry::bench {
namespace {

using inference::ModelInferRequest;

// As InferCall does with a message.
class FerryDecoder {
 public:
  explicit FerryDecoder(int64_t elements) : spec_(RowModel(elements)) {}

  void Decode(grpc::ByteBuffer& message) {
    Check(message.Dump(&slices_).ok(), "a message has its slices");
    for (const grpc::Slice& slice : slices_) {
      segments_.push_back(
          {reinterpret_cast<const std::byte*>(slice.begin()), slice.size()});
    }
    Check(decoder_.Parse(segments_).ok(), "the message is well-formed");
    Check(decoder_.Bind({name_, spec_, kSerial}, request_).ok(),
          "the request fits the model");
  }

  void Clear() {
    decoder_.Clear();
    segments_.clear();
    slices_.clear();
  }

  const std::vector<ByteSegment> tensor() const {
    const TensorView& input = request_.inputs.front();
    return {input.segments.begin(), input.segments.end()};
  }

 private:
  static constexpr uint64_t kSerial = 1;

  const std::string name_ = "model";
  const ModelSpec spec_;
  std::vector<grpc::Slice> slices_;
  std::vector<ByteSegment> segments_;
  InferDecoder decoder_;
  InferRequest request_;
};

void ParseInto(ModelInferRequest& request, grpc::ByteBuffer& message) {
  grpc::ProtoBufferReader reader(&message);
  Check(request.ParseFromZeroCopyStream(&reader), "the message is well-formed");
}

std::vector<ByteSegment> TensorOf(const ModelInferRequest& request) {
  const std::string& bytes = request.raw_input_contents(0);
  return {{reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}};
}

// A message for each request, as a synchronous service has it.
class ProtobufDecoder {
 public:
  explicit ProtobufDecoder(int64_t /*elements*/) {}
  void Decode(grpc::ByteBuffer& message) {
    request_ = new ModelInferRequest();
    ParseInto(*request_, message);
  }
  void Clear() { delete request_; }
  std::vector<ByteSegment> tensor() const { return TensorOf(*request_); }

 private:
  ModelInferRequest* request_ = nullptr;  // owned, from Decode() to Clear()
};

class ReusedProtobufDecoder {
 public:
  explicit ReusedProtobufDecoder(int64_t /*elements*/) {}
  void Decode(grpc::ByteBuffer& message) { ParseInto(request_, message); }
  void Clear() {}
  std::vector<ByteSegment> tensor() const { return TensorOf(request_); }

 private:
  ModelInferRequest request_;
};

class ArenaProtobufDecoder {
 public:
  explicit ArenaProtobufDecoder(int64_t /*elements*/) {}
  void Decode(grpc::ByteBuffer& message) {
    request_ =
        google::protobuf::Arena::CreateMessage<ModelInferRequest>(&arena_);
    ParseInto(*request_, message);
  }
  void Clear() { arena_.Reset(); }
  std::vector<ByteSegment> tensor() const { return TensorOf(*request_); }

 private:
  google::protobuf::Arena arena_;
  ModelInferRequest* request_ = nullptr;  // the arena's
};

// Returns how many of the tensor's bytes were copied, after a look at them.
template <typename Decoder>
size_t CopiedBytes(int64_t elements, grpc::ByteBuffer& message) {
  Decoder decoder(elements);
  decoder.Decode(message);
  std::string found;
  size_t copied = 0;
  for (const ByteSegment& segment : decoder.tensor()) {
    found.append(reinterpret_cast<const char*>(segment.data), segment.size);
    copied += Holds(message, segment.data) ? 0 : segment.size;
  }
  Check(found == RowContents(elements), "the tensor is the one that was sent");
  decoder.Clear();
  return copied;
}

// A client repeats itself, or says something else of its tensors each time.
enum class Fields { kRepeated, kNew };

template <typename Decoder, Fields kFields>
void BM_Decode(benchmark::State& state) {
  const int64_t elements = state.range(0) / 4;
  ModelInferRequest request = RowRequest(elements);
  grpc::ByteBuffer messages[2];
  messages[0] = InFrames(request);
  if (kFields == Fields::kNew) {
    request.add_outputs()->set_name("y");
  }
  messages[1] = InFrames(request);
  const size_t copied = CopiedBytes<Decoder>(elements, messages[0]);
  Decoder decoder(elements);
  int turn = 0;
  for (auto _ : state) {
    decoder.Decode(messages[turn]);
    turn = 1 - turn;
    benchmark::DoNotOptimize(&decoder);
    benchmark::ClobberMemory();
    decoder.Clear();
  }
  state.SetItemsProcessed(state.iterations());
  state.SetBytesProcessed(state.iterations() * state.range(0));
  state.counters["bytes_copied"] = static_cast<double>(copied);
}

void OfSizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(4 * kSmallElements)->Arg(4 * kImageElements)->Apply(Counted);
}

BENCHMARK(BM_Decode<FerryDecoder, Fields::kRepeated>)
    ->Name("decode/infer_decoder")
    ->Apply(OfSizes);
BENCHMARK(BM_Decode<FerryDecoder, Fields::kNew>)
    ->Name("decode/infer_decoder_new_fields")
    ->Apply(OfSizes);
BENCHMARK(BM_Decode<ProtobufDecoder, Fields::kRepeated>)
    ->Name("decode/protobuf")
    ->Apply(OfSizes);
BENCHMARK(BM_Decode<ReusedProtobufDecoder, Fields::kRepeated>)
    ->Name("decode/protobuf_reused")
    ->Apply(OfSizes);
BENCHMARK(BM_Decode<ArenaProtobufDecoder, Fields::kRepeated>)
    ->Name("decode/protobuf_arena")
    ->Apply(OfSizes);

}  // namespace
}  // namespace ferry::bench

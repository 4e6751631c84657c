// Measures what it costs to make a reply of output rows: Ferry's encoder, and a
// protobuf message that is filled and serialized as the generated API of gRPC
// does.
//
// bytes_copied counts the tensor's bytes once for each time they move on the
// way from the output buffer to the slices of the reply.
#include <grpcpp/impl/codegen/proto_utils.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/check.h"
#include "bench/micro/counted.h"
#include "bench/micro/wire_messages.h"
#include "server/codec/infer_response.h"
#include "tensor/host_output_pool.h"

namespace ferry::bench {
namespace {

using inference::ModelInferResponse;

// One row of output that a batch has left.
struct Answer {
  explicit Answer(int64_t elements)
      : spec(RowModel(elements)), pool(1, 1), output(pool.Take()) {
    HostOutputPool::Layout(*output.get(), 0, 1, DataType::kFp32,
                           spec.outputs[0].dims);
    const std::string contents = RowContents(elements);
    std::memcpy(output->tensors()[0].data, contents.data(), contents.size());
  }

  ByteSegment row() const { return output->tensors()[0].Rows(0, 1); }

  const std::string model_name = "model";
  const std::string model_version = "1";
  const std::string id = "request-7";
  const ModelSpec spec;
  const std::vector<size_t> outputs = {0};
  HostOutputPool pool;
  OutputRef output;
};

class FerryEncoder {
 public:
  grpc::ByteBuffer Encode(const Answer& answer) {
    return EncodeInferResponse({.model_name = answer.model_name,
                                .model_version = answer.model_version,
                                .id = answer.id,
                                .spec = answer.spec,
                                .outputs = answer.outputs,
                                .rows = {answer.output.get(), 0, 1}});
  }
  static size_t CopiesOnTheWay() { return 0; }
};

void Fill(const Answer& answer, ModelInferResponse& response) {
  response.set_model_name(answer.model_name);
  response.set_model_version(answer.model_version);
  response.set_id(answer.id);
  auto* const output = response.add_outputs();
  const TensorSpec& spec = answer.spec.outputs[0];
  output->set_name(spec.name);
  output->set_datatype("FP32");
  output->add_shape(1);
  output->add_shape(spec.dims[0]);
  const ByteSegment row = answer.row();
  response.add_raw_output_contents(row.data, row.size);
}

grpc::ByteBuffer Serialized(const ModelInferResponse& response) {
  grpc::ByteBuffer buffer;
  bool owns = false;
  Check(grpc::SerializationTraits<ModelInferResponse>::Serialize(response,
                                                                 &buffer, &owns)
            .ok(),
        "a message can be serialized");
  return buffer;
}

// A message for each reply, as a synchronous service has it.
class ProtobufEncoder {
 public:
  grpc::ByteBuffer Encode(const Answer& answer) {
    ModelInferResponse response;
    Fill(answer, response);
    return Serialized(response);
  }
  static size_t CopiesOnTheWay() { return 1; }  // into the message
};

class ReusedProtobufEncoder {
 public:
  grpc::ByteBuffer Encode(const Answer& answer) {
    response_.Clear();
    Fill(answer, response_);
    return Serialized(response_);
  }
  static size_t CopiesOnTheWay() { return 1; }  // into the message

 private:
  ModelInferResponse response_;
};

// Returns how many of the tensor's bytes move, after a look at the reply.
template <typename Encoder>
size_t CopiedBytes(const Answer& answer) {
  const grpc::ByteBuffer reply = Encoder().Encode(answer);
  ModelInferResponse response;
  Check(response.ParseFromString(BytesOf(reply)), "protobuf reads the reply");
  const ByteSegment row = answer.row();
  const std::string& sent = response.raw_output_contents(0);
  Check(sent.size() == row.size &&
            std::memcmp(sent.data(), row.data, row.size) == 0,
        "the reply has the row");
  Check(response.outputs(0).shape(1) == answer.spec.outputs[0].dims[0],
        "the reply has the shape");
  const size_t last_copy = Holds(reply, row.data) ? 0 : row.size;
  return Encoder::CopiesOnTheWay() * row.size + last_copy;
}

template <typename Encoder>
void BM_Encode(benchmark::State& state) {
  const Answer answer(state.range(0) / 4);
  const size_t copied = CopiedBytes<Encoder>(answer);
  Encoder encoder;
  for (auto _ : state) {
    grpc::ByteBuffer reply = encoder.Encode(answer);
    benchmark::DoNotOptimize(reply);
  }
  state.SetItemsProcessed(state.iterations());
  state.SetBytesProcessed(state.iterations() * state.range(0));
  state.counters["bytes_copied"] = static_cast<double>(copied);
}

void OfSizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(4 * kSmallElements)->Arg(4 * kImageElements)->Apply(Counted);
}

BENCHMARK(BM_Encode<FerryEncoder>)
    ->Name("encode/infer_response")
    ->Apply(OfSizes);
BENCHMARK(BM_Encode<ProtobufEncoder>)->Name("encode/protobuf")->Apply(OfSizes);
BENCHMARK(BM_Encode<ReusedProtobufEncoder>)
    ->Name("encode/protobuf_reused")
    ->Apply(OfSizes);

}  // namespace
}  // namespace ferry::bench

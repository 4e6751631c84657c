// Tests that steady state, from received bytes to reply, allocates nothing per
// request but what gRPC does: it counts each operator new that is called from
// outside gRPC's libraries (they make the slices of a reply with it).
#include <gtest/gtest.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "batcher/cpu_instance.h"
#include "batcher/sim/echo_model.h"
#include "proto/inference.pb.h"
#include "server/grpc/infer_call.h"
#include "tests/server/borrowed_models.h"
#include "tests/server/codec/message_bytes.h"
#include "tests/server/grpc/answered_queue.h"

namespace {

std::atomic<int64_t> allocation_count{0};

// Where gRPC's code lies in this process.
struct Range {
  uintptr_t begin = 0;
  uintptr_t end = 0;
};
Range grpc_code[8];
size_t grpc_code_count = 0;

int NoteLibrary(dl_phdr_info* info, size_t, void*) {
  const std::string_view name = info->dlpi_name;
  if (name.find("libgrpc") == std::string_view::npos &&
      name.find("libgpr") == std::string_view::npos) {
    return 0;
  }
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0 &&
        grpc_code_count < std::size(grpc_code)) {
      const uintptr_t begin = info->dlpi_addr + part.p_vaddr;
      grpc_code[grpc_code_count++] = {begin, begin + part.p_memsz};
    }
  }
  return 0;
}

bool IsGrpcs(const void* caller) {
  const auto address = reinterpret_cast<uintptr_t>(caller);
  return std::any_of(grpc_code, grpc_code + grpc_code_count,
                     [address](const Range& range) {
                       return range.begin <= address && address < range.end;
                     });
}

void* CountedAllocate(size_t size, const void* caller) {
  if (!IsGrpcs(caller)) {
    allocation_count.fetch_add(1, std::memory_order_relaxed);
  }
  void* const memory = std::malloc(size);
  if (memory == nullptr) {
    std::abort();
  }
  return memory;
}

// Out of line: GCC 12 warns of a free() of what operator new gave, where it
// sees one without the other.
[[gnu::noinline]] void Free(void* memory) { std::free(memory); }

}  // namespace

void* operator new(size_t size) {
  return CountedAllocate(size, __builtin_return_address(0));
}
void* operator new[](size_t size) {
  return CountedAllocate(size, __builtin_return_address(0));
}
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete[](void* memory) noexcept { Free(memory); }
void operator delete(void* memory, size_t) noexcept { Free(memory); }
void operator delete[](void* memory, size_t) noexcept { Free(memory); }

namespace ferry {
namespace {

constexpr int kCalls = 8;
constexpr int kRounds = 100;
constexpr int64_t kWidth = 300;

// A call that is used again, on a transport that writes at once.
class ReusedCall final : private InferTransport {
 public:
  explicit ReusedCall(const InferEnvironment& environment)
      : call_(environment, *this) {}

  void Start(const grpc::Slice& message) {
    is_replied_ = false;
    grpc::ByteBuffer bytes(&message, 1);
    call_.Start(bytes, kNever);
  }
  bool is_replied() const { return is_replied_; }
  int replies() const { return replies_; }

 private:
  void SendReply(grpc::ByteBuffer&) override { ++replies_; }
  void SendError(const grpc::Status& status, std::optional<int64_t>) override {
    ADD_FAILURE() << status.error_message();
  }
  void Ended() override { is_replied_ = true; }

  bool is_replied_ = true;
  int replies_ = 0;
  InferCall call_;
};

grpc::Slice Message(const std::string& id, int64_t rows, bool is_raw) {
  inference::ModelInferRequest request;
  request.set_model_name("echo");
  request.set_id(id);
  auto* input = request.add_inputs();
  input->set_name("x");
  input->set_datatype("FP32");
  input->add_shape(rows);
  input->add_shape(kWidth);
  const std::vector<float> values(static_cast<size_t>(rows * kWidth), 0.5f);
  if (is_raw) {
    request.add_raw_input_contents(RawBytes(values));
  } else {
    input->mutable_contents()->mutable_fp32_contents()->Add(values.begin(),
                                                            values.end());
  }
  return grpc::Slice(request.SerializeAsString());
}

// A served echo with a scheduler and threads of its own.
class InferAllocation : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    dl_iterate_phdr(&NoteLibrary, nullptr);
    ASSERT_GT(grpc_code_count, 0u);
  }

  InferAllocation() {
    model_.name = "echo";
    model_.spec = {.inputs = {{"x", DataType::kFp32, {kWidth}}},
                   .outputs = {{"y", DataType::kFp32, {kWidth}}},
                   .max_batch_size = 8};
    auto instance = CpuInstance::Create(*EchoModel::Create(model_.spec));
    EXPECT_TRUE(instance.ok());
    std::vector<std::unique_ptr<Instance>> instances;
    instances.push_back(*std::move(instance));
    auto scheduler =
        Scheduler::Create(std::move(instances), {.max_batch_size = 8});
    EXPECT_TRUE(scheduler.ok());
    model_.scheduler = *std::move(scheduler);
    table_.Publish(SetOf({&model_}));
    view_ = std::make_unique<ModelTableView>(table_);
    environment_ = std::make_unique<InferEnvironment>(
        InferEnvironment{.models = *view_, .answered = queue_.calls()});
    for (int i = 0; i < kCalls; ++i) {
      calls_.push_back(std::make_unique<ReusedCall>(*environment_));
    }
  }

  // Returns the allocations a request makes, once what grows has grown.
  double AllocationsARequest(const std::vector<grpc::Slice>& messages) {
    Play(messages);
    const int64_t before = allocation_count.load();
    Play(messages);
    return static_cast<double>(allocation_count.load() - before) /
           (kRounds * kCalls);
  }

  void Play(const std::vector<grpc::Slice>& messages) {
    for (int round = 0; round < kRounds; ++round) {
      for (size_t i = 0; i < calls_.size(); ++i) {
        calls_[i]->Start(
            messages[(i + static_cast<size_t>(round)) % messages.size()]);
      }
      for (const auto& call : calls_) {
        while (!call->is_replied()) {
          queue_.HandleEvent();
        }
      }
    }
  }

  AnsweredQueue queue_;  // outlives what answers
  ServedModel model_;
  ModelTable table_;
  std::unique_ptr<ModelTableView> view_;
  std::unique_ptr<InferEnvironment> environment_;
  std::vector<std::unique_ptr<ReusedCall>> calls_;
};

// More batches under way at once than ever before may grow a pool: that is
// not one a request.
constexpr double kAlmostNone = 0.05;

TEST_F(InferAllocation, RawRequestsThatRepeatAllocateNothing) {
  EXPECT_LE(AllocationsARequest({Message("1", 1, true), Message("2", 1, true)}),
            kAlmostNone);
  for (const auto& call : calls_) {
    EXPECT_EQ(call->replies(), 2 * kRounds);
  }
}

TEST_F(InferAllocation, RawRequestsThatDifferAllocateNothing) {
  EXPECT_LE(AllocationsARequest({Message("1", 1, true), Message("2", 2, true),
                                 Message("a longer one than that", 3, true)}),
            kAlmostNone);
}

TEST_F(InferAllocation, TypedRequestsThatRepeatAllocateNothing) {
  EXPECT_LE(
      AllocationsARequest({Message("1", 1, false), Message("2", 1, false)}),
      kAlmostNone);
}

// What a message may bring in great numbers is counted before it is built.
TEST_F(InferAllocation, WhatIsRefusedIsNotBuilt) {
  constexpr int kMany = 100'000;
  const auto request_with = [](const auto& spoil) {
    inference::ModelInferRequest request;
    auto* input = request.add_inputs();
    input->set_name("x");
    input->set_datatype("FP32");
    input->add_shape(1);
    input->add_shape(kWidth);
    for (int i = 0; i < kMany; ++i) {
      spoil(request, std::to_string(i));
    }
    return request.SerializeAsString();
  };
  const std::string unknown = request_with([](auto& r, const auto&) {
    auto* input = r.mutable_inputs(0);
    input->GetReflection()->MutableUnknownFields(input)->AddVarint(99, 1);
  });
  const std::string cases[] = {
      request_with([](auto& r, const auto&) {
        r.mutable_inputs(0)->mutable_contents()->add_bytes_contents("");
      }),
      request_with([](auto& r, const auto& i) {
        (*r.mutable_inputs(0)->mutable_parameters())[i];
      }),
      request_with([](auto& r, const auto& i) {
        if (r.outputs_size() == 0) {
          r.add_outputs();
        }
        (*r.mutable_outputs(0)->mutable_parameters())[i];
      }),
      request_with(
          [](auto& r, const auto& i) { (*r.mutable_parameters())[i]; }),
      unknown};
  InferDecoder decoder;
  InferRequest request;
  for (const std::string& bytes : cases) {
    const MessageBytes message(bytes);
    const int64_t before = allocation_count.load();
    absl::Status status = decoder.Parse(message.segments());
    if (status.ok()) {
      status = decoder.Bind({model_.name, model_.spec, 1}, request);
    }
    const int64_t allocations = allocation_count.load() - before;
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_LT(allocations, 20'000) << "allocations, and then " << status;
    decoder.Clear();
  }
}

// ids that are padded, and a mask of them that is left out.
TEST_F(InferAllocation, PaddedRequestsAllocateNothing) {
  ModelSpec spec = {.inputs = {{"ids", DataType::kInt8, {kAnySize}},
                               {"mask", DataType::kInt64, {kAnySize}}},
                    .outputs = {{"y", DataType::kFp32, {1}}},
                    .max_batch_size = 8};
  spec.inputs[0].pads = spec.inputs[1].pads = {512};
  spec.inputs[1].follows = 0;
  spec.inputs[1].is_mask = spec.inputs[1].is_optional = true;
  std::vector<std::unique_ptr<MessageBytes>> messages;
  for (const int64_t size : {300, 400, 400}) {
    inference::ModelInferRequest request;
    auto* input = request.add_inputs();
    input->set_name("ids");
    input->set_datatype("INT8");
    input->add_shape(1);
    input->add_shape(size);
    request.add_raw_input_contents(std::string(static_cast<size_t>(size), 'i'));
    messages.push_back(
        std::make_unique<MessageBytes>(request.SerializeAsString()));
  }
  InferDecoder decoder;
  InferRequest request;
  const std::string name = "m";
  int64_t before = 0;
  for (int round = 0; round < 2 * kRounds; ++round) {
    before = round == kRounds ? allocation_count.load() : before;
    for (const auto& message : messages) {
      ASSERT_TRUE(decoder.Parse(message->segments()).ok());
      ASSERT_TRUE(decoder.Bind({name, spec, 1}, request).ok());
      ASSERT_EQ(request.inputs[1].batch_dims()[0], 512);
    }
  }
  EXPECT_LE(static_cast<double>(allocation_count.load() - before) / kRounds,
            kAlmostNone);
}

TEST_F(InferAllocation, TypedRequestsThatDifferAllocateNothing) {
  EXPECT_LE(AllocationsARequest({Message("1", 1, false), Message("2", 2, false),
                                 Message("3", 8, false)}),
            kAlmostNone);
}

// The nodes of maps are protobuf's to make.
TEST_F(InferAllocation, ParametersAllocate) {
  inference::ModelInferRequest request;
  const grpc::Slice plain = Message("1", 1, true);
  ASSERT_TRUE(
      request.ParseFromArray(plain.begin(), static_cast<int>(plain.size())));
  (*request.mutable_parameters())["own"].set_int64_param(1);
  EXPECT_GT(
      AllocationsARequest({plain, grpc::Slice(request.SerializeAsString())}),
      kAlmostNone)
      << "the test counts";
}

}  // namespace
}  // namespace ferry

"""mutations.py lists mistakes that `scripts/mutate.py device` plants in the code
of devices."""

from mutation import Mutation

STREAMS = "models/cuda/cuda_streams.cc"
DEVICE = "models/cuda/cuda_device.cc"
MODEL = "models/torch/device/torch_device_model.cc"
GRAPHS = "models/torch/device/forward_graphs.cc"
PIPELINE = "batcher/internal/device_pipeline.cc"
INSTANCE = "batcher/device_instance.cc"

MUTATIONS = [
    # --- streams and events ---
    Mutation(STREAMS, "what is copied out is put on the stream that copies in",
             "cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, of(stream))",
             "cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault,\n"
             "                      of(stream == DeviceStream::kCopyOut\n"
             "                             ? DeviceStream::kCopyIn : stream))"),
    Mutation(STREAMS, "an event marks another stream than it is told to",
             "cudaEventRecord(event_, streams_.of(stream))",
             "cudaEventRecord(event_, streams_.of(stream == DeviceStream::kCompute\n"
             "                                               ? DeviceStream::kCopyIn : stream))"),
    Mutation(STREAMS, "a stream does not wait for an event",
             "    C10_CUDA_CHECK(cudaStreamWaitEvent(streams_.of(stream), event_, 0));\n",
             "    static_cast<void>(stream);\n"),
    Mutation(STREAMS, "an event that has not passed is taken for one that has",
             "      if (error == cudaSuccess) {\n        return;",
             "      if (error == cudaSuccess || error == cudaErrorNotReady) {\n        return;"),
    Mutation(STREAMS, "NotReady stays the last error",
             "      cudaGetLastError();  // some drivers keep it, and the next kernel has it\n",
             ""),
    Mutation("models/cuda/compute_turns.h", "a turn does not wait for the one before",
             "    if (last_ != nullptr && last_ != stream) {", "    if (false) {"),
    Mutation("models/cuda/stream_pool.h", "two models have the same streams",
             "      free_.pop_back();\n", ""),
    # --- calls whose error nothing looks at ---
    Mutation(STREAMS, "the error of a kernel is not looked at",
             "    if (error != cudaErrorInvalidValue) {\n      C10_CUDA_CHECK(error);\n"
             "      return;\n    }\n  }\n"
             "  const at::TensorOptions here(at::Device(at::kCUDA, 0));\n"
             "  Run(DeviceStream::kCompute, [&] {\n"
             "    at::from_blob(to.data, {count}",
             "    if (error != cudaErrorInvalidValue) {\n      return;\n    }\n  }\n"
             "  const at::TensorOptions here(at::Device(at::kCUDA, 0));\n"
             "  Run(DeviceStream::kCompute, [&] {\n"
             "    at::from_blob(to.data, {count}"),
    Mutation(DEVICE, "a device that is lost is not noticed",
             "    return error != cudaSuccess && error != cudaErrorNotReady &&\n"
             "           error != cudaErrorMemoryAllocation;",
             "    return error == cudaErrorAssert;"),
    Mutation(DEVICE, "a device without memory counts as lost",
             " &&\n           error != cudaErrorMemoryAllocation;", ";"),
    # --- graphs ---
    Mutation(STREAMS, "a graph is not launched",
             "  void Launch() override { graph->replay(); }",
             "  void Launch() override {}"),
    Mutation(STREAMS, "a capture that broke is ended as if it had not",
             "    is_broken = state != cudaStreamCaptureStatusActive;",
             "    is_broken = false;"),
    Mutation(STREAMS, "a capture that cannot be ended is forgotten",
             "      Captures::Get().are_broken = true;\n", ""),
    Mutation(STREAMS, "a capture has the random numbers of all",
             "  generator.graphsafe_set_state(of_all.clone());\n", ""),
    Mutation(GRAPHS, "a graph is not compared with what the network gives",
             "Guarded([&] { return Prove(inputs, given, outputs, *graph); })",
             "absl::OkStatus()"),
    Mutation(GRAPHS, "what a forward wrote to its inputs stays there",
             "      values[i].toTensor().copy_(copies[i].toTensor());\n",
             "      static_cast<void>(copies[i]);\n"),
    # --- the steps of a batch ---
    Mutation(MODEL, "what computes does not wait for what is copied in",
             "      place.copied_in->Block(DeviceStream::kCompute);\n", ""),
    Mutation(MODEL, "what is copied out does not wait for what computes",
             "    place.computed->Block(DeviceStream::kCopyOut);\n", ""),
    Mutation(MODEL, "staging memory is used while the device reads it",
             "  absl::Status status = WithMemory([&] {\n"
             "    // Passed long ago, but for a batch that failed on its way.\n"
             "    place.copied_in->Await();\n    place.computed->Await();\n"
             "    place.copied_out->Await();\n",
             "  absl::Status status = WithMemory([&] {\n"),
    Mutation(MODEL, "outputs are read before they are copied out",
             "    used.copied_out->Await();\n    outputs_.Finish(used.outputs);\n",
             "    outputs_.Finish(used.outputs);\n"),
    Mutation("models/torch/network.cc", "a call that had no memory counts as any other error",
             "         TellsOutOfMemory(error.what_without_backtrace());",
             "         false;"),
    Mutation(MODEL, "no batch is halved", "  if (half == 0) {", "  if (half >= 0) {"),
    Mutation(MODEL, "rows that depend on each other are halved",
             "  if (halves_ == Halves::kNone) {", "  if (false) {"),
    Mutation(DEVICE, "the thread that sends the last reply frees pinned memory",
             "    : host_memory_(\n"
             "          std::make_shared<FreeingThread>(std::make_shared<PinnedMemory>())),",
             "    : host_memory_(std::make_shared<PinnedMemory>()),"),
    Mutation(DEVICE, "what is beside the allocator is measured at start alone",
             "  LimitMemory(/*unmeasured=*/std::nullopt);\n", ""),
    Mutation(DEVICE, "memory that LibTorch keeps is not given back",
             "  c10::cuda::CUDACachingAllocator::emptyCache();\n", ""),
    Mutation("models/torch/device/device_input.cc", "rows that fill a bucket are left as they were",
             "    placed.narrow(0, rows.count, rows.padded - rows.count).zero_();\n", ""),
    Mutation("models/torch/networks/fused_ops.cc", "weights are cast on the device",
             "  return weights.to(type).contiguous().to(device);",
             "  return weights.to(device).to(type).contiguous();"),
    Mutation("models/cuda/cast_kernel.cuh", "the last elements are not cast",
             "  if (rest < count) {", "  if (rest + 1 < count) {"),
    # --- the instance ---
    Mutation(PIPELINE, "places are used again one batch too early",
             "(begun_++ % model_.places())", "(begun_++ % (model_.places() - 1))"),
    Mutation(PIPELINE, "the output of a failed batch is used while the device writes",
             "  if (has_failed) {\n    SettleOutput(in_flight);\n  }\n",
             "  static_cast<void>(has_failed);\n"),
    Mutation(INSTANCE, "a loss at the copy out is not told",
             "    if (pipeline_.is_lost()) {\n      scheduler.DeviceLost();\n    }\n", ""),
]

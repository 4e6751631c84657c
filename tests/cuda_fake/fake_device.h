// FakeDevice does what is put on its streams, as late as it may: when a thread
// waits for it, and no sooner. So what is read before it was waited for is not
// there yet.
//
// A stream is a queue; a step of it may need a mark of another stream first. A
// stream that captures puts steps into a graph instead. A call that CUDA
// forbids while there is a capture breaks it (CUDA Runtime API, 6.4 Stream
// Management; CUDA Programming Guide, "Prohibited and Unhandled Operations").
//
// A step is done by whichever thread waits, one at a time, but that a kernel
// takes its time on its stream alone: those of two streams overlap. All that
// wait for the stream of a step that never ends never return; the others go on.
//
// Thread safety: thread-safe.
#ifndef FERRY_TESTS_CUDA_FAKE_FAKE_DEVICE_H_
#define FERRY_TESTS_CUDA_FAKE_FAKE_DEVICE_H_

#include <cuda_runtime_api.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace ferry::cuda_fake {

// What is done on the device; the error that it ends with.
using Work = std::function<cudaError_t()>;

struct FakeStream;

// A place in a stream that is passed once.
struct Mark {
  FakeStream* stream = nullptr;
  uint64_t at = 0;  // when so many of its steps are done
  bool is_passed = false;
  std::chrono::steady_clock::time_point passed;
};

struct Step {
  Work work;
  std::shared_ptr<Mark> needs = {};   // to be passed first
  std::shared_ptr<Mark> passes = {};  // when it is done
  std::chrono::milliseconds takes{0};
  bool is_endless = false;
};

// What was recorded, in an order in which it may be done.
struct FakeGraph {
  std::vector<Step> steps;
};

struct FakeCapture {
  uint64_t id = 0;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  FakeStream* origin = nullptr;
  std::set<FakeStream*> joined = {};  // beside the origin
  std::set<FakeStream*> apart = {};   // of these: the origin has not waited for
  cudaError_t broken = cudaSuccess;
  std::unique_ptr<FakeGraph> graph = std::make_unique<FakeGraph>();
};

struct FakeStream {
  unsigned int flags = 0;
  std::deque<Step> waiting = {};
  uint64_t put = 0;
  uint64_t done = 0;
  bool is_busy = false;  // its first step takes its time
  std::shared_ptr<FakeCapture> capture = {};
};

struct FakeEvent {
  unsigned int flags = 0;
  std::shared_ptr<Mark> mark = {};
  std::shared_ptr<FakeCapture> capture = {};  // in which it was recorded last
  FakeStream* captured_on = nullptr;
};

class FakeDevice {
 public:
  static FakeDevice& Get();

  FakeStream* CreateStream(unsigned int flags);
  cudaError_t DestroyStream(FakeStream* stream);
  // Null and the handles of legacy and of each thread: the one default stream.
  FakeStream* StreamOf(cudaStream_t handle);

  // --- what is put on a stream ---
  cudaError_t Put(FakeStream* stream, Work work,
                  std::chrono::milliseconds takes = {});
  cudaError_t PutEndless(FakeStream* stream);
  cudaError_t Record(FakeEvent& event, FakeStream* stream);
  cudaError_t Wait(FakeStream* stream, const FakeEvent& event);
  cudaError_t Launch(FakeStream* stream, const FakeGraph& graph);

  // --- what waits for it ---
  cudaError_t Query(const FakeEvent& event);
  cudaError_t Query(FakeStream* stream);
  cudaError_t Synchronize(const FakeEvent& event);
  cudaError_t Synchronize(FakeStream* stream);
  cudaError_t SynchronizeAll();
  cudaError_t Elapsed(const FakeEvent& begin, const FakeEvent& end, float* ms);
  // Does at once what has to be in order with the stream, and is not recorded.
  cudaError_t DoNow(FakeStream* stream, const Work& work);

  // --- captures ---
  cudaError_t BeginCapture(FakeStream* stream, cudaStreamCaptureMode mode);
  cudaError_t EndCapture(FakeStream* stream, std::unique_ptr<FakeGraph>& graph);
  cudaStreamCaptureStatus CaptureOf(FakeStream* stream, uint64_t* id);
  // Sets the calling thread's; returns the one before.
  static cudaStreamCaptureMode ExchangeMode(cudaStreamCaptureMode mode);
  // Breaks the captures during which the calling thread may not make a call
  // that waits for the device, or allocates.
  cudaError_t CheckUnsafe();

  // What every call returns from then on; cudaSuccess where nothing is wrong.
  cudaError_t lost();
  void Lose(cudaError_t error);

 private:
  using Lock = std::unique_lock<std::recursive_mutex>;

  FakeDevice() = default;

  cudaError_t PutStep(FakeStream* stream, Step step);
  // Breaks the capture, and says how.
  static cudaError_t Break(FakeCapture& capture, cudaError_t error);
  // Breaks the capture that the stream is in.
  static cudaError_t CheckNotCapturing(FakeStream* stream);
  void Drain(Lock& lock, FakeStream* stream, uint64_t until);

  std::recursive_mutex mutex_;
  std::condition_variable_any never_;
  std::condition_variable_any ready_;  // a stream is no longer busy
  std::set<std::unique_ptr<FakeStream>> streams_;
  FakeStream default_stream_;
  std::set<std::shared_ptr<FakeCapture>> captures_;
  uint64_t captures_begun_ = 0;
  cudaError_t lost_ = cudaSuccess;
};

}  // namespace ferry::cuda_fake

#endif  // FERRY_TESTS_CUDA_FAKE_FAKE_DEVICE_H_

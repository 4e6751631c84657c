// Implements FakeDevice: queues of steps, and what may be done while a graph is
// recorded.
#include "tests/cuda_fake/fake_device.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "tests/cuda_fake/fake_calls.h"
#include "tests/cuda_fake/fake_scenario.h"

namespace ferry::cuda_fake {
namespace {

thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

}  // namespace

FakeDevice& FakeDevice::Get() {
  static auto* const device = new FakeDevice;
  return *device;
}

FakeStream* FakeDevice::CreateStream(unsigned int flags) {
  if ((flags & cudaStreamNonBlocking) == 0) {
    LogOnce("a stream that waits for the legacy one does not here");
  }
  const Lock lock(mutex_);
  auto stream = std::make_unique<FakeStream>();
  stream->flags = flags;
  return streams_.insert(std::move(stream)).first->get();
}

// The handle is gone; what was put there is done all the same.
cudaError_t FakeDevice::DestroyStream(FakeStream* stream) {
  Lock lock(mutex_);
  if (stream->capture != nullptr) {
    return Break(*stream->capture, cudaErrorStreamCaptureUnsupported);
  }
  Drain(lock, stream, stream->put);
  return lost_;
}

FakeStream* FakeDevice::StreamOf(cudaStream_t handle) {
  if (handle == cudaStreamPerThread) {
    LogOnce("a thread's own stream is played as the legacy one");
  }
  return handle == nullptr || handle == cudaStreamLegacy ||
                 handle == cudaStreamPerThread
             ? &default_stream_
             : reinterpret_cast<FakeStream*>(handle);
}

// --- what is put on a stream -------------------------------------------------

cudaError_t FakeDevice::PutStep(FakeStream* stream, Step step) {
  if (stream->capture != nullptr) {
    FakeCapture& capture = *stream->capture;
    if (capture.broken != cudaSuccess) {
      return cudaErrorStreamCaptureInvalidated;
    }
    capture.graph->steps.push_back(std::move(step));
    return cudaSuccess;
  }
  // The legacy stream waits for each stream that blocks, also while it
  // captures.
  for (const auto& capture : captures_) {
    if (stream == &default_stream_ && capture->broken == cudaSuccess &&
        (capture->origin->flags & cudaStreamNonBlocking) == 0) {
      return Break(*capture, cudaErrorStreamCaptureImplicit);
    }
  }
  stream->waiting.push_back(std::move(step));
  ++stream->put;
  return cudaSuccess;
}

cudaError_t FakeDevice::Put(FakeStream* stream, Work work,
                            std::chrono::milliseconds takes) {
  const Lock lock(mutex_);
  return PutStep(stream, {.work = std::move(work), .takes = takes});
}

cudaError_t FakeDevice::PutEndless(FakeStream* stream) {
  const Lock lock(mutex_);
  return PutStep(stream, {.work = {}, .is_endless = true});
}

cudaError_t FakeDevice::Record(FakeEvent& event, FakeStream* stream) {
  const Lock lock(mutex_);
  if (stream->capture != nullptr) {
    if (stream->capture->broken != cudaSuccess) {
      return cudaErrorStreamCaptureInvalidated;
    }
    event.capture = stream->capture;
    event.captured_on = stream;
    return cudaSuccess;
  }
  auto mark = std::make_shared<Mark>();
  const cudaError_t error = PutStep(stream, {.work = {}, .passes = mark});
  mark->stream = stream;
  mark->at = stream->put;
  event.mark = std::move(mark);
  event.capture = nullptr;
  return error;
}

cudaError_t FakeDevice::Wait(FakeStream* stream, const FakeEvent& event) {
  const Lock lock(mutex_);
  if (event.capture != nullptr) {
    FakeCapture& capture = *event.capture;
    if (captures_.count(event.capture) == 0) {
      return cudaErrorCapturedEvent;  // that capture has ended
    }
    if (stream->capture != nullptr && stream->capture != event.capture) {
      return Break(capture, cudaErrorStreamCaptureMerge);
    }
    if (stream == capture.origin) {
      capture.apart.erase(event.captured_on);
    } else {
      capture.joined.insert(stream);
      capture.apart.insert(stream);
      stream->capture = event.capture;
    }
    return cudaSuccess;
  }
  if (event.mark == nullptr) {
    return cudaSuccess;  // never recorded
  }
  if (stream->capture != nullptr) {
    return Break(*stream->capture, cudaErrorStreamCaptureIsolation);
  }
  return PutStep(stream, {.work = {}, .needs = event.mark});
}

cudaError_t FakeDevice::Launch(FakeStream* stream, const FakeGraph& graph) {
  const Lock lock(mutex_);
  for (const Step& step : graph.steps) {
    if (const cudaError_t error = PutStep(stream, step); error != cudaSuccess) {
      return error;
    }
  }
  return cudaSuccess;
}

// --- what waits for it -------------------------------------------------------

void FakeDevice::Drain(Lock& lock, FakeStream* stream, uint64_t until) {
  while (stream->done < until) {
    if (stream->is_busy) {
      ready_.wait(lock);
      continue;
    }
    const Step step = stream->waiting.front();
    if (step.is_endless) {
      never_.wait(lock, [] { return false; });
    }
    if (step.needs != nullptr && !step.needs->is_passed) {
      Drain(lock, step.needs->stream, step.needs->at);
      continue;  // another thread may have done it meanwhile
    }
    if (step.takes.count() > 0) {
      stream->is_busy = true;
      lock.unlock();
      std::this_thread::sleep_for(step.takes);
      lock.lock();
      stream->is_busy = false;
      ready_.notify_all();
    }
    stream->waiting.pop_front();
    ++stream->done;
    if (step.work && lost_ == cudaSuccess) {
      lost_ = step.work();
    }
    if (step.passes != nullptr) {
      step.passes->is_passed = true;
      step.passes->passed = std::chrono::steady_clock::now();
    }
  }
}

cudaError_t FakeDevice::CheckNotCapturing(FakeStream* stream) {
  return stream->capture == nullptr
             ? cudaSuccess
             : Break(*stream->capture, cudaErrorStreamCaptureUnsupported);
}

cudaError_t FakeDevice::Query(const FakeEvent& event) {
  Lock lock(mutex_);
  if (event.capture != nullptr) {
    return Break(*event.capture, cudaErrorCapturedEvent);
  }
  if (FakeScenario::Get().progresses && event.mark != nullptr) {
    const std::shared_ptr<Mark> mark = event.mark;
    Drain(lock, mark->stream, std::min(mark->stream->done + 1, mark->at));
  }
  return event.mark == nullptr || event.mark->is_passed ? lost_
                                                        : cudaErrorNotReady;
}

cudaError_t FakeDevice::Query(FakeStream* stream) {
  const Lock lock(mutex_);
  if (const cudaError_t error = CheckNotCapturing(stream);
      error != cudaSuccess) {
    return error;
  }
  return stream->done == stream->put ? lost_ : cudaErrorNotReady;
}

cudaError_t FakeDevice::Synchronize(const FakeEvent& event) {
  Lock lock(mutex_);
  if (event.capture != nullptr) {
    return Break(*event.capture, cudaErrorCapturedEvent);
  }
  if (event.mark != nullptr) {
    const std::shared_ptr<Mark> mark = event.mark;
    Drain(lock, mark->stream, mark->at);
  }
  return lost_;
}

cudaError_t FakeDevice::Synchronize(FakeStream* stream) {
  Lock lock(mutex_);
  if (const cudaError_t error = CheckNotCapturing(stream);
      error != cudaSuccess) {
    return error;
  }
  Drain(lock, stream, stream->put);
  return lost_;
}

cudaError_t FakeDevice::SynchronizeAll() {
  Lock lock(mutex_);
  std::vector<FakeStream*> all = {&default_stream_};
  for (const auto& stream : streams_) {
    all.push_back(stream.get());
  }
  for (FakeStream* const stream : all) {
    if (stream->capture == nullptr) {
      Drain(lock, stream, stream->put);
    }
  }
  return lost_;
}

cudaError_t FakeDevice::Elapsed(const FakeEvent& begin, const FakeEvent& end,
                                float* ms) {
  const Lock lock(mutex_);
  if (begin.mark == nullptr || end.mark == nullptr ||
      (begin.flags & cudaEventDisableTiming) != 0 ||
      (end.flags & cudaEventDisableTiming) != 0) {
    return cudaErrorInvalidResourceHandle;
  }
  if (!begin.mark->is_passed || !end.mark->is_passed) {
    return cudaErrorNotReady;
  }
  *ms = std::chrono::duration<float, std::milli>(end.mark->passed -
                                                 begin.mark->passed)
            .count();
  return lost_;
}

cudaError_t FakeDevice::DoNow(FakeStream* stream, const Work& work) {
  Lock lock(mutex_);
  if (const cudaError_t error = CheckNotCapturing(stream);
      error != cudaSuccess) {
    return error;
  }
  Drain(lock, stream, stream->put);
  if (lost_ == cudaSuccess) {
    lost_ = work();
  }
  return lost_;
}

// --- captures ----------------------------------------------------------------

cudaError_t FakeDevice::Break(FakeCapture& capture, cudaError_t error) {
  if (capture.broken != cudaSuccess) {
    return cudaErrorStreamCaptureInvalidated;
  }
  return capture.broken = error;
}

cudaError_t FakeDevice::BeginCapture(FakeStream* stream,
                                     cudaStreamCaptureMode mode) {
  const Lock lock(mutex_);
  if (stream == &default_stream_) {
    return cudaErrorStreamCaptureUnsupported;
  }
  if (stream->capture != nullptr) {
    return cudaErrorIllegalState;
  }
  stream->capture = std::make_shared<FakeCapture>();
  stream->capture->id = ++captures_begun_;
  stream->capture->mode = mode;
  stream->capture->thread = std::this_thread::get_id();
  stream->capture->origin = stream;
  captures_.insert(stream->capture);
  return cudaSuccess;
}

cudaError_t FakeDevice::EndCapture(FakeStream* stream,
                                   std::unique_ptr<FakeGraph>& graph) {
  const Lock lock(mutex_);
  const std::shared_ptr<FakeCapture> capture = stream->capture;
  if (capture == nullptr || capture->origin != stream) {
    return capture == nullptr
               ? cudaErrorIllegalState
               : Break(*capture, cudaErrorStreamCaptureUnmatched);
  }
  if (capture->mode != cudaStreamCaptureModeRelaxed &&
      capture->thread != std::this_thread::get_id()) {
    return Break(*capture, cudaErrorStreamCaptureWrongThread);
  }
  stream->capture = nullptr;
  for (FakeStream* const joined : capture->joined) {
    joined->capture = nullptr;
  }
  captures_.erase(capture);
  if (capture->broken != cudaSuccess) {
    return cudaErrorStreamCaptureInvalidated;
  }
  if (!capture->apart.empty()) {
    return cudaErrorStreamCaptureUnjoined;
  }
  graph = std::move(capture->graph);
  return cudaSuccess;
}

cudaStreamCaptureStatus FakeDevice::CaptureOf(FakeStream* stream,
                                              uint64_t* id) {
  const Lock lock(mutex_);
  if (stream->capture == nullptr) {
    return cudaStreamCaptureStatusNone;
  }
  if (id != nullptr) {
    *id = stream->capture->id;
  }
  return stream->capture->broken == cudaSuccess
             ? cudaStreamCaptureStatusActive
             : cudaStreamCaptureStatusInvalidated;
}

cudaStreamCaptureMode FakeDevice::ExchangeMode(cudaStreamCaptureMode mode) {
  return std::exchange(thread_mode, mode);
}

cudaError_t FakeDevice::CheckUnsafe() {
  const Lock lock(mutex_);
  if (thread_mode == cudaStreamCaptureModeRelaxed) {
    return cudaSuccess;
  }
  for (const auto& capture : captures_) {
    const bool is_own = capture->thread == std::this_thread::get_id() &&
                        capture->mode != cudaStreamCaptureModeRelaxed;
    if (is_own || (capture->mode == cudaStreamCaptureModeGlobal &&
                   thread_mode == cudaStreamCaptureModeGlobal)) {
      return Break(*capture, cudaErrorStreamCaptureUnsupported);
    }
  }
  return cudaSuccess;
}

cudaError_t FakeDevice::lost() {
  const Lock lock(mutex_);
  const std::string& file = FakeScenario::Get().lose_when;
  if (lost_ == cudaSuccess && !file.empty() &&
      access(file.c_str(), F_OK) == 0) {
    lost_ = cudaErrorIllegalAddress;
  }
  return lost_;
}

void FakeDevice::Lose(cudaError_t error) {
  const Lock lock(mutex_);
  lost_ = error;
}

}  // namespace ferry::cuda_fake

// Implements FreeingThread: a queue of blocks, and the thread that frees them.
#include "tensor/freeing_thread.h"

#include <pthread.h>

#include <new>
#include <utility>

namespace ferry {

FreeingThread::FreeingThread(std::shared_ptr<HostMemory> memory,
                             size_t most_waiting)
    : memory_(std::move(memory)),
      most_waiting_(most_waiting),
      thread_([this] { Run(); }) {}

FreeingThread::~FreeingThread() {
  {
    MutexLock lock(mutex_);
    is_ending_ = true;
  }
  changed_.SignalAll();
  thread_.join();
}

std::byte* FreeingThread::Allocate(size_t bytes) {
  {
    MutexLock lock(mutex_);
    while (waiting_bytes_ > most_waiting_) {
      changed_.Wait(mutex_);
    }
  }
  try {
    return memory_->Allocate(bytes);
  } catch (const std::bad_alloc&) {
    AwaitFreed();
    return memory_->Allocate(bytes);
  }
}

void FreeingThread::Free(std::byte* bytes, size_t size) {
  try {
    MutexLock lock(mutex_);
    waiting_.push_back({bytes, size});
    waiting_bytes_ += size;
    ++given_back_;
  } catch (const std::bad_alloc&) {
    return memory_->Free(bytes, size);
  }
  changed_.SignalAll();
}

void FreeingThread::AwaitFreed() {
  MutexLock lock(mutex_);
  const uint64_t until = given_back_;
  while (freed_ < until) {
    changed_.Wait(mutex_);
  }
}

void FreeingThread::Run() {
  pthread_setname_np(pthread_self(), "ferry-free");
  for (;;) {
    Block block;
    {
      MutexLock lock(mutex_);
      while (waiting_.empty()) {
        if (is_ending_) {
          return;
        }
        changed_.Wait(mutex_);
      }
      block = waiting_.front();
      waiting_.pop_front();
    }
    memory_->Free(block.bytes, block.size);
    {
      MutexLock lock(mutex_);
      waiting_bytes_ -= block.size;
      ++freed_;
    }
    changed_.SignalAll();
  }
}

}  // namespace ferry

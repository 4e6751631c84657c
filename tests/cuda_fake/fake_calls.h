// Call() runs a function of the fake runtime as all of them run: it counts,
// fails where the scenario says so, and keeps the thread's last error.
//
// Thread safety: thread-safe.
#ifndef FERRY_TESTS_CUDA_FAKE_FAKE_CALLS_H_
#define FERRY_TESTS_CUDA_FAKE_FAKE_CALLS_H_

#include <cuda_runtime_api.h>

#include <functional>
#include <string>

namespace ferry::cuda_fake {

cudaError_t Call(const char* name, const std::function<cudaError_t()>& body);

// Keeps an error as the thread's last one, and returns it.
cudaError_t Told(cudaError_t error);
// The thread's last error; forgets it where `forget`, unless the device is
// lost.
cudaError_t LastError(bool forget);

// Writes a line into the scenario's log, each line once.
void LogOnce(const std::string& line);

}  // namespace ferry::cuda_fake

// What a stub of a library does: tells its name, and returns the code.
extern "C" int FerryFakeStub(const char* name, int code);

#endif  // FERRY_TESTS_CUDA_FAKE_FAKE_CALLS_H_

// HostOutputPool hands out output buffers in host memory and takes them back
// when the last reply that references them was written.
//
// A buffer keeps its memory when it comes back, so steady state allocates
// nothing. At most `max_idle` idle buffers are kept, and as many bytes as their
// HostMemory says; further ones are freed.
// Past `max_shared` buffers in use all are crowded(), so that slow readers hold
// their own rows and not whole batches.
//
// Thread safety: Take() and the return of a buffer from any thread. The pool
// may be destroyed before its buffers: they share its state (shared_ptr: the
// last reply may be written after the model was unloaded).
#ifndef FERRY_TENSOR_HOST_OUTPUT_POOL_H_
#define FERRY_TENSOR_HOST_OUTPUT_POOL_H_

#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "tensor/host_memory.h"
#include "tensor/output_buffer.h"
#include "tensor/tensor.h"

namespace ferry {

class HostOutputPool {
 public:
  static constexpr int32_t kMaxShared = 16;

  HostOutputPool(size_t outputs, int32_t max_idle,
                 int32_t max_shared = kMaxShared,
                 std::shared_ptr<HostMemory> memory = HostMemory::Plain());
  ~HostOutputPool();

  // Returns a buffer whose tensors are to be laid out by Layout().
  OutputRef Take();

  // Gives output `output` of a buffer from Take() room for `rows` rows of that
  // type and row shape; its `data` is 64-byte aligned and uninitialized. Throws
  // std::bad_alloc without memory, which fails the batch.
  // REQUIRES: called once an output, before the buffer is shared.
  static void Layout(OutputBuffer& buffer, size_t output, int32_t rows,
                     DataType type, absl::Span<const int64_t> row_dims);

  // The same for rows that differ in bytes: room for that many. Its row_starts
  // are for the caller to set when they are written, those of type BYTES by
  // IndexBytesRows().
  static void LayoutBytes(OutputBuffer& buffer, size_t output, size_t bytes,
                          absl::Span<const int64_t> row_dims);

 private:
  class Buffer;
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace ferry

#endif  // FERRY_TENSOR_HOST_OUTPUT_POOL_H_

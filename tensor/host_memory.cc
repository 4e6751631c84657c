// Implements HostMemory::Plain(): allocates memory of the process.
#include "tensor/host_memory.h"

#include <cstdlib>
#include <new>

namespace ferry {
namespace {

class PlainMemory final : public HostMemory {
 public:
  std::byte* Allocate(size_t bytes) override {
    void* const memory = std::aligned_alloc(kAlignment, bytes);
    if (memory == nullptr) {
      throw std::bad_alloc();
    }
    return static_cast<std::byte*>(memory);
  }
  void Free(std::byte* bytes, size_t /*size*/) override { std::free(bytes); }
  // The allocator keeps what is freed, and gives it to whatever needs it next.
  size_t max_idle_bytes() const override { return size_t{4} << 20; }
};

}  // namespace

std::shared_ptr<HostMemory> HostMemory::Plain() {
  static const auto memory = std::make_shared<PlainMemory>();
  return memory;
}

}  // namespace ferry

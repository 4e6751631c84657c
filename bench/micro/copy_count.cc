// copy-count counts the bytes that a program moves with memcpy and memmove,
// those of gRPC's libraries apart; it is a library to preload.
//
//   FERRY_COPY_COUNT=counts LD_PRELOAD=libcopy-count.so ferry-server ..
//
// The file holds three unsigned 64-bit numbers, which grow while the program
// runs: bytes moved by gRPC, bytes moved by all else, calls. Small copies that
// the compiler writes out are no calls and are not seen.
//
// Thread safety: thread-safe. Errors: without the variable, or where the file
// cannot be made, nothing is counted.
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string_view>

namespace {

struct Counts {
  std::atomic<uint64_t> bytes_of_grpc{0};
  std::atomic<uint64_t> bytes_of_others{0};
  std::atomic<uint64_t> calls{0};
};
static_assert(sizeof(Counts) == 3 * sizeof(uint64_t));

// Where gRPC's code lies in this process.
struct Range {
  uintptr_t begin = 0;
  uintptr_t end = 0;
};
Range grpc_code[8];
size_t grpc_code_count = 0;
Counts* counts = nullptr;

int NoteLibrary(dl_phdr_info* info, size_t, void*) {
  const std::string_view name = info->dlpi_name;
  if (name.find("/libgrpc") == std::string_view::npos &&
      name.find("/libgpr") == std::string_view::npos) {
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

__attribute__((constructor)) void Start() {
  const char* const path = std::getenv("FERRY_COPY_COUNT");
  if (path == nullptr) {
    return;
  }
  dl_iterate_phdr(&NoteLibrary, nullptr);
  const int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, sizeof(Counts)) != 0) {
    return;
  }
  void* const page = mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE,
                          MAP_SHARED, file, 0);
  close(file);
  if (page != MAP_FAILED) {
    counts = static_cast<Counts*>(page);
  }
}

void Count(size_t size, const void* caller) {
  if (counts == nullptr) {
    return;
  }
  const auto address = reinterpret_cast<uintptr_t>(caller);
  bool is_grpcs = false;
  for (size_t i = 0; i < grpc_code_count; ++i) {
    is_grpcs = is_grpcs ||
               (grpc_code[i].begin <= address && address < grpc_code[i].end);
  }
  (is_grpcs ? counts->bytes_of_grpc : counts->bytes_of_others)
      .fetch_add(size, std::memory_order_relaxed);
  counts->calls.fetch_add(1, std::memory_order_relaxed);
}

void Forwards(void* to, const void* from, size_t size) {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

void Backwards(void* to, const void* from, size_t size) {
  void* last = static_cast<std::byte*>(to) + size - 1;
  const void* last_from = static_cast<const std::byte*>(from) + size - 1;
  asm volatile("std\n\trep movsb\n\tcld"
               : "+D"(last), "+S"(last_from), "+c"(size)
               :
               : "memory");
}

}  // namespace

extern "C" {

void* memcpy(void* to, const void* from, size_t size) {
  Count(size, __builtin_return_address(0));
  Forwards(to, from, size);
  return to;
}

void* memmove(void* to, const void* from, size_t size) {
  Count(size, __builtin_return_address(0));
  if (to <= from || static_cast<const std::byte*>(from) + size <= to) {
    Forwards(to, from, size);
  } else if (size > 0) {
    Backwards(to, from, size);
  }
  return to;
}

void* mempcpy(void* to, const void* from, size_t size) {
  Count(size, __builtin_return_address(0));
  Forwards(to, from, size);
  return static_cast<std::byte*>(to) + size;
}

}  // extern "C"

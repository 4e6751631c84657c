// ReturnFreedMemory() gives memory that was freed back to the system.
//
// Thread safety: thread-safe. Takes some milliseconds a gigabyte, in which
// other threads' allocations may wait.
#ifndef FERRY_SERVER_CONTROL_RETURN_MEMORY_H_
#define FERRY_SERVER_CONTROL_RETURN_MEMORY_H_

namespace ferry {

// Both tcmalloc and glibc keep what was freed for the next allocation; for the
// weights of a model that is gone there may be none.
void ReturnFreedMemory();

}  // namespace ferry

#endif  // FERRY_SERVER_CONTROL_RETURN_MEMORY_H_

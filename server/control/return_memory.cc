// tcmalloc where the program is linked with it, else glibc.
#include "server/control/return_memory.h"

#include <malloc.h>

// Of gperftools/malloc_extension_c.h; null where the program has no tcmalloc.
extern "C" void MallocExtension_ReleaseFreeMemory() __attribute__((weak));

namespace ferry {

void ReturnFreedMemory() {
  if (&MallocExtension_ReleaseFreeMemory != nullptr) {
    MallocExtension_ReleaseFreeMemory();
  } else {
    malloc_trim(0);
  }
}

}  // namespace ferry

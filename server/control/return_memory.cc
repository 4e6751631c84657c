// Implements ReturnFreedMemory() with tcmalloc where it is linked, else glibc.
#include "server/control/return_memory.h"

#include <malloc.h>

// Declared as in gperftools/malloc_extension_c.h; null without tcmalloc.
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

// EditDistance() counts the mistakes by which one word was typed for another.
//
// Thread safety: free function over values.
#ifndef FERRY_FLAGS_EDIT_DISTANCE_H_
#define FERRY_FLAGS_EDIT_DISTANCE_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace ferry {

// Returns how many letters are to be added, taken away, changed or swapped with
// their neighbour; most + 1 for any number above `most`. Words whose lengths
// tell that cost nothing.
size_t EditDistance(absl::string_view a, absl::string_view b, size_t most);

}  // namespace ferry

#endif  // FERRY_FLAGS_EDIT_DISTANCE_H_

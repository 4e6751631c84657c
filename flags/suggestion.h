// Suggestion() finds what a wrong word on a command line was meant to be.
//
// Thread safety: free function over values.
#ifndef FERRY_FLAGS_SUGGESTION_H_
#define FERRY_FLAGS_SUGGESTION_H_

#include <string>
#include <vector>

namespace ferry {

// Returns "; did you mean --max-batch-size?" for "--max-batch", with the names
// that are nearest, three at most; "" where none is near. A name is near where
// a letter or two differ, or where it has each part of the word, in order:
// "max" and "batch". Underscores count as dashes.
std::string Suggestion(const std::string& word,
                       const std::vector<std::string>& names);

}  // namespace ferry

#endif  // FERRY_FLAGS_SUGGESTION_H_

// NumberFrom() makes a check of numbers that flags of several programs share.
//
// Thread safety: free function over values.
#ifndef FERRY_FLAGS_NUMBER_FROM_H_
#define FERRY_FLAGS_NUMBER_FROM_H_

#include <CLI/CLI.hpp>

namespace ferry {

// Returns a check that a flag's value is a number of that range, which --help
// shows. Unlike CLI::Range it refuses "nan", which is in no range.
CLI::Validator NumberFrom(double least, double most);

}  // namespace ferry

#endif  // FERRY_FLAGS_NUMBER_FROM_H_

// NumberFrom(), IntegerFrom() and OneOf() check the values of flags, with one
// form of refusal in all programs.
//
// Thread safety: free functions over values.
#ifndef FERRY_FLAGS_VALUE_CHECKS_H_
#define FERRY_FLAGS_VALUE_CHECKS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace ferry {

// Returns a check that a flag's value is a number of that range, which --help
// shows. Unlike CLI::Range it refuses "nan", which is in no range.
CLI::Validator NumberFrom(double least, double most);

// The same of whole numbers, in decimal digits.
CLI::Validator IntegerFrom(int64_t least, int64_t most);

// Returns a check that a flag's value is one of these, which --help shows as
// its type: "eager|window|adaptive".
CLI::Validator OneOf(std::vector<std::string> values);

}  // namespace ferry

#endif  // FERRY_FLAGS_VALUE_CHECKS_H_

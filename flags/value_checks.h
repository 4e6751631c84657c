// NumberFrom(), IntegerFrom(), OneOf() and IsBool() check the values of flags,
// with one form of refusal in all programs.
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

// The same of whole numbers, in decimal digits without a 0 before them, which
// CLI11 would read as octal.
CLI::Validator IntegerFrom(int64_t least, int64_t most);

// Returns a check that a flag's value is one of these, which --help shows as
// its type: "eager|window|adaptive".
CLI::Validator OneOf(std::vector<std::string> values);

// Returns a check that a flag's value is true or false in Triton's words: also
// on, off, 1 and 0, in letters of either case. --help shows "true|false".
CLI::Validator IsBool();

}  // namespace ferry

#endif  // FERRY_FLAGS_VALUE_CHECKS_H_

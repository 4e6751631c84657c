// An op library prints a line when it is opened.
#include <cstdio>

namespace {

[[maybe_unused]] const int printed = std::puts("it is opened");

}  // namespace

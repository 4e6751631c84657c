// LineRelay turns the bytes of one server's output into whole lines, each with
// the server's label before it, so that the lines of several can be told apart.
// Control characters are escaped (base/printable_text.h).
//
// Invariant: holds at most kMaxLine bytes; longer lines come in parts.
// Thread safety: thread-compatible.
#ifndef FERRY_DEPLOY_LAUNCH_LINE_RELAY_H_
#define FERRY_DEPLOY_LAUNCH_LINE_RELAY_H_

#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace ferry::launch {

class LineRelay {
 public:
  static constexpr size_t kMaxLine = 8192;  // bytes

  explicit LineRelay(const std::string& label) : prefix_("[" + label + "] ") {}

  // Returns the lines that are complete now.
  std::string Take(absl::string_view bytes);

  // Returns what is left as a line: at the end of the output.
  std::string TakeRest();

  // Returns the last line since the last call, without the label; empty: none.
  std::string TakeLastLine() { return std::exchange(last_line_, ""); }

 private:
  std::string EndLine();

  const std::string prefix_;
  std::string rest_;
  std::string last_line_;
};

}  // namespace ferry::launch

#endif  // FERRY_DEPLOY_LAUNCH_LINE_RELAY_H_

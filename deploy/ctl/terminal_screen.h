// TerminalScreen shows pages of text on the terminal, one in the place of the
// other, and gives the terminal back as it was.
//
// Life: from its constructor to its destructor keys are not echoed, and
// SIGINT, SIGTERM, SIGHUP and SIGQUIT do not end the process but WaitForEnd().
//
// Thread safety: one thread, constructed before others.
#ifndef FERRY_DEPLOY_CTL_TERMINAL_SCREEN_H_
#define FERRY_DEPLOY_CTL_TERMINAL_SCREEN_H_

#include <termios.h>

#include <csignal>
#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "base/clock.h"

namespace ferry::ctl {

// Returns the first `rows` lines, each cut to so many characters.
std::string ScreenText(absl::string_view text, size_t columns, size_t rows);

class TerminalScreen {
 public:
  // Whether standard output is a terminal.
  static bool IsThere();

  TerminalScreen();
  ~TerminalScreen();
  TerminalScreen(const TerminalScreen&) = delete;
  TerminalScreen& operator=(const TerminalScreen&) = delete;

  // What does not fit is cut.
  void Show(const std::string& text);

  // Returns true at the key q, Ctrl-C, a signal, or the end of the input; false
  // where none comes within `at_most`.
  bool WaitForEnd(Duration at_most);

 private:
  // Reads what was typed; true where it asks for the end.
  static bool TakeKeys();

  sigset_t signals_before_;
  int signal_fd_;
  bool has_keys_;  // standard input is a terminal
  termios keys_before_;
};

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_TERMINAL_SCREEN_H_

// Implements TerminalScreen by the few sequences of ECMA-48 that each terminal
// of Linux knows: no library is needed for one page of text without input.
#include "deploy/ctl/terminal_screen.h"

#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/write_all.h"

namespace ferry::ctl {
namespace {

// The other screen, without a cursor and without wrapping, as wide characters
// can make a line too long; and back.
constexpr char kBegin[] = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr char kEnd[] = "\x1b[?7h\x1b[?25h\x1b[?1049l";
// To the top left, and clear the screen.
constexpr char kNewPage[] = "\x1b[H\x1b[J";
constexpr char kCtrlC = 3;
// The size of a terminal that does not tell it.
constexpr size_t kColumns = 80;
constexpr size_t kRows = 24;

// Writing to a terminal that is gone fails, and its SIGHUP ends the wait.
void Write(const std::string& text) { WriteAll(STDOUT_FILENO, text); }

// Returns the first characters of a line in UTF-8.
absl::string_view Cut(absl::string_view line, size_t columns) {
  size_t end = 0;
  for (; end < line.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(line[end]) & 0xC0) != 0x80;
    if (begins && columns-- == 0) {
      break;
    }
  }
  return line.substr(0, end);
}

}  // namespace

std::string ScreenText(absl::string_view text, size_t columns, size_t rows) {
  std::vector<absl::string_view> lines =
      absl::StrSplit(absl::StripSuffix(text, "\n"), '\n');
  lines.resize(std::min(lines.size(), rows));
  return absl::StrJoin(lines, "\n",
                       [&](std::string* out, absl::string_view line) {
                         absl::StrAppend(out, Cut(line, columns));
                       });
}

bool TerminalScreen::IsThere() { return isatty(STDOUT_FILENO) == 1; }

TerminalScreen::TerminalScreen()
    : has_keys_(tcgetattr(STDIN_FILENO, &keys_before_) == 0) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    sigaddset(&signals, number);
  }
  pthread_sigmask(SIG_BLOCK, &signals, &signals_before_);
  signal_fd_ = signalfd(-1, &signals, SFD_CLOEXEC);
  if (has_keys_) {
    termios keys = keys_before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &keys);
  }
  Write(kBegin);
}

TerminalScreen::~TerminalScreen() {
  Write(kEnd);
  if (has_keys_) {
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &keys_before_);
  }
  close(signal_fd_);
  pthread_sigmask(SIG_SETMASK, &signals_before_, nullptr);
}

void TerminalScreen::Show(const std::string& text) {
  winsize size = {};
  ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
  Write(absl::StrCat(kNewPage,
                     ScreenText(text, size.ws_col == 0 ? kColumns : size.ws_col,
                                size.ws_row == 0 ? kRows : size.ws_row)));
}

bool TerminalScreen::TakeKeys() {
  char keys[64];
  const ssize_t size = read(STDIN_FILENO, keys, sizeof(keys));
  return size <= 0 || std::any_of(keys, keys + size, [](char key) {
           return key == 'q' || key == kCtrlC;
         });
}

bool TerminalScreen::WaitForEnd(Duration at_most) {
  const TimePoint until = Clock::Steady().Now() + at_most;
  for (TimePoint now = Clock::Steady().Now(); now < until;
       now = Clock::Steady().Now()) {
    pollfd ends[] = {
        {.fd = signal_fd_, .events = POLLIN, .revents = 0},
        {.fd = has_keys_ ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now);
    poll(ends, std::size(ends), static_cast<int>(left.count()));
    if (ends[0].revents != 0) {
      signalfd_siginfo taken;  // or it would end the process later
      return read(signal_fd_, &taken, sizeof(taken)) != 0;
    }
    if (ends[1].revents != 0 && TakeKeys()) {
      return true;
    }
  }
  return false;
}

}  // namespace ferry::ctl

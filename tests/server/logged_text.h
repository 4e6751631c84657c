// LoggedText keeps what is logged, in place of the log, while it lives.
#ifndef FERRY_TESTS_SERVER_LOGGED_TEXT_H_
#define FERRY_TESTS_SERVER_LOGGED_TEXT_H_

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <sstream>
#include <string>

namespace ferry {

class LoggedText {
 public:
  LoggedText() : before_(spdlog::default_logger()) {
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_)));
  }
  ~LoggedText() { spdlog::set_default_logger(before_); }
  LoggedText(const LoggedText&) = delete;
  LoggedText& operator=(const LoggedText&) = delete;

  // Returns what was logged since the last call.
  std::string Take() {
    std::string text = text_.str();
    text_.str("");
    return text;
  }

 private:
  std::ostringstream text_;
  const std::shared_ptr<spdlog::logger> before_;
};

}  // namespace ferry

#endif  // FERRY_TESTS_SERVER_LOGGED_TEXT_H_

// Implements LogModelFailure and others with spdlog, and the rate of lines.
#include "models/failure_log.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "models/failure_reason.h"
#include "spdlog/spdlog.h"

namespace ferry {
namespace {

constexpr Duration kBetweenLines = std::chrono::seconds(1);
constexpr size_t kMaxTextBytes = 8000;

// Returns the text on one line, of bounded length.
std::string OneLine(absl::string_view text) {
  std::string line(text.substr(0, kMaxTextBytes));
  std::replace(line.begin(), line.end(), '\n', '|');
  return line;
}

}  // namespace

std::optional<int64_t> FailureRate::TryTake(const std::string& model,
                                            uint32_t reason, TimePoint now) {
  MutexLock lock(mutex_);
  if (models_.size() >= kMaxModels && models_.count(model) == 0) {
    models_.clear();
  }
  Model& of_model = models_[model];
  std::erase_if(of_model.next_lines,
                [now](const auto& next) { return next.second <= now; });
  if (of_model.next_lines.size() >= kMaxReasons ||
      of_model.next_lines.count(reason) > 0) {
    ++of_model.left_out;
    return std::nullopt;
  }
  of_model.next_lines[reason] = now + kBetweenLines;
  return std::exchange(of_model.left_out, 0);
}

uint32_t LogModelFailure(const std::string& model, absl::string_view step,
                         const absl::Status& failure) {
  static FailureRate& rate = *new FailureRate();
  const uint32_t code = ReasonCode(model, failure.message());
  if (const std::optional<int64_t> left_out =
          rate.TryTake(model, code, Clock::Steady().Now())) {
    spdlog::error(
        "model failed model={} step={} reason={:08x} left_out={} why=\"{}\" "
        "trace=\"{}\"",
        model, std::string(step), code, *left_out, OneLine(failure.message()),
        OneLine(TraceOf(failure)));
  }
  return code;
}

void LogLoadTrace(const std::string& model, const absl::Status& failure) {
  if (const std::string trace = TraceOf(failure); !trace.empty()) {
    spdlog::info(
        "model failed while it was loaded model={} why=\"{}\" trace=\"{}\"",
        model, OneLine(failure.message()), OneLine(trace));
  }
}

void LogModelFallback(const std::string& model, absl::string_view what,
                      absl::string_view why) {
  spdlog::warn("model falls back model={} to=\"{}\" why=\"{}\"", model,
               std::string(what), OneLine(why));
}

}  // namespace ferry

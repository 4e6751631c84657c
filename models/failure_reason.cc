// Implements AsFailure and others, which go through the lines of a text.
#include "models/failure_reason.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace ferry {
namespace {

// LibTorch's allocator, a call of CUDA, cuBLAS and cuDNN say it so, each.
constexpr const char* kNoMemory[] = {
    "CUDA out of memory", "CUDA error: out of memory", "_STATUS_ALLOC_FAILED"};
constexpr const char* kNvmlRefuses[] = {"CUDACachingAllocator", "NVML_SUCCESS"};

using Lines = std::vector<absl::string_view>;

constexpr char kTraceKey[] = "ferry/trace";
constexpr size_t kMaxReasonBytes = 1000;

// What LibTorch writes around the lines of code of a trace.
constexpr char kHere[] = "<--- HERE";
constexpr char kFile[] = "  File \"";
constexpr char kTraceback[] = "Traceback of TorchScript";
// What it writes before each reason of an exception that has no class.
constexpr char kNoClass[] = "RuntimeError: ";

// Whether the line begins with the name of an exception's class, as
// "AssertionError: " or "pkg.TooLong: ".
bool NamesClass(absl::string_view line) {
  const size_t end = line.find(": ");
  return end != absl::string_view::npos && end > 0 &&
         !absl::ascii_isdigit(static_cast<unsigned char>(line[0])) &&
         std::all_of(
             line.begin(), line.begin() + static_cast<ptrdiff_t>(end),
             [](char c) {
               return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                      c == '_' || c == '.';
             });
}

std::string Joined(Lines::const_iterator begin, Lines::const_iterator end) {
  return std::string(
      absl::StripAsciiWhitespace(absl::StrJoin(begin, end, "\n")));
}

// Returns the line of code that the last mark points at, or nothing.
absl::string_view MarkedCode(const Lines& lines, Lines::const_iterator mark) {
  return mark == lines.begin() || mark == lines.end()
             ? absl::string_view()
             : absl::StripAsciiWhitespace(*(mark - 1));
}

std::string ReasonOf(absl::string_view what) {
  const Lines lines = absl::StrSplit(what, '\n');
  const auto holds = [](const char* text) {
    return [text](absl::string_view line) {
      return absl::StrContains(line, text);
    };
  };
  const auto trace =
      std::find_if(lines.begin(), lines.end(), [](absl::string_view line) {
        return absl::StartsWith(line, kTraceback) ||
               absl::StartsWith(line, kFile);
      });
  if (trace == lines.end()) {
    return Joined(lines.begin(), lines.end());
  }
  const auto last_mark =
      std::find_if(lines.rbegin(), lines.rend(), holds(kHere));
  const auto mark =
      last_mark == lines.rend() ? trace : std::prev(last_mark.base());
  const auto named = std::find_if(mark, lines.end(), &NamesClass);
  if (named == lines.end()) {  // the compiler says why before it says where
    const std::string before = Joined(lines.begin(), trace);
    return before.empty() ? Joined(lines.begin(), lines.end())
                          : std::string(absl::StripAsciiWhitespace(
                                absl::StripSuffix(before, ":")));
  }
  std::string reason = Joined(named, lines.end());
  reason = std::string(absl::StripPrefix(reason, kNoClass));
  return absl::EndsWith(reason, ":")  // a class, and not a word
             ? absl::StrCat(reason, " ", MarkedCode(lines, mark))
             : reason;
}

}  // namespace

absl::Status AsFailure(absl::string_view what) {
  std::string reason = ReasonOf(what);
  const bool is_all = reason == absl::StripAsciiWhitespace(what);
  if (reason.size() > kMaxReasonBytes) {
    reason = absl::StrCat(reason.substr(0, kMaxReasonBytes), "...");
  }
  absl::Status status = absl::InternalError(reason);
  if (!is_all) {
    status.SetPayload(kTraceKey, absl::Cord(what));
  }
  return status;
}

std::string TraceOf(const absl::Status& status) {
  return std::string(status.GetPayload(kTraceKey).value_or(absl::Cord()));
}

bool TellsOutOfMemory(absl::string_view what) {
  const auto tells = [&](const char* text) {
    return absl::StrContains(what, text);
  };
  return std::any_of(std::begin(kNoMemory), std::end(kNoMemory), tells) ||
         std::all_of(std::begin(kNvmlRefuses), std::end(kNvmlRefuses), tells);
}

// FNV-1a over the model, a zero byte, and the reason with '#' for each number.
uint32_t ReasonCode(absl::string_view model, absl::string_view reason) {
  uint32_t code = 2166136261u;
  const auto add = [&code](char c) {
    code = (code ^ static_cast<unsigned char>(c)) * 16777619u;
  };
  std::for_each(model.begin(), model.end(), add);
  add('\0');
  bool was_digit = false;
  for (const char c : reason) {
    const bool is_digit = absl::ascii_isdigit(static_cast<unsigned char>(c));
    if (!is_digit || !was_digit) {
      add(is_digit ? '#' : c);
    }
    was_digit = is_digit;
  }
  return std::max(code, 1u);
}

}  // namespace ferry

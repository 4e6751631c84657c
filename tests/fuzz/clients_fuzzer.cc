// clients_fuzzer fuzzes what reads of a client before it is known: the input is
// what a connection sends, to the next reader a file of tokens, to the next one
// what a call shows as its token, and to the last one its traceparent.
//
// What must hold, beside that nothing is read or written where it may not be:
//   1. However a connection's bytes are cut, it is a flood for the same reason.
//   2. A connection that ends takes all that it counted out of the totals.
//   3. A file of tokens is refused, or has clients, none of them without a
//      name; a refusal tells no word of the file's last column.
//   4. The token of a file lets its client in, after the scheme in any case;
//      nothing else does, and what is refused is so in the same words.
//   5. A traceparent is no context, or one that is written with the same ids.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "base/check.h"
#include "server/auth/authorizer.h"
#include "server/auth/token_file.h"
#include "server/net/frame_counter.h"
#include "server/trace/trace_context.h"

namespace ferry {
namespace {

// A clock that stands still: what is counted does not hang on it.
class StandingClock final : public Clock {
 public:
  TimePoint Now() const override { return TimePoint(); }
};

// Bounds that inputs of a few KiB can pass.
FrameBounds SmallBounds() {
  FrameBounds bounds;
  bounds.header_bytes = 600;
  bounds.header_fields = 20;
  bounds.early_streams = 8;
  bounds.unfinished = 12;
  bounds.resets = {.burst = 5, .per_second = 1};
  bounds.control = {.burst = 7, .per_second = 1};
  return bounds;
}

// Reads in pieces of `step` bytes; the server has sent before the second.
std::optional<FrameFlood> Verdict(absl::Span<const uint8_t> bytes,
                                  size_t step) {
  static const FrameBounds bounds = SmallBounds();
  const StandingClock clock;
  FrameTotals totals;
  std::optional<FrameFlood> flood;
  {
    FrameCounter counter(bounds, totals, clock.Now());
    counter.Sent();
    while (!bytes.empty() && !flood.has_value()) {
      const size_t size = std::min(step, bytes.size());
      flood = counter.Read(bytes.first(size), clock);
      bytes.remove_prefix(size);
      Check(totals.unfinished >= 0, "a connection counts from zero");
    }
  }
  Check(totals.unfinished == 0 && totals.connections == 0,
        "what ended is in no total");
  return flood;
}

void CheckFrames(absl::Span<const uint8_t> bytes) {
  const std::optional<FrameFlood> whole = Verdict(bytes, bytes.size() + 1);
  for (const size_t step : {size_t{1}, size_t{7}, size_t{64}}) {
    Check(Verdict(bytes, step) == whole, "cuts change nothing");
  }
}

// Returns what stands in lines as a digest, where it is as long as a secret and
// in no name: names are told, and digits of a digest are in no other text.
std::vector<absl::string_view> DigestsOf(absl::string_view text) {
  constexpr size_t kSecretBytes = 16;
  std::vector<absl::string_view> digests;
  std::string names;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (!words.empty()) {
      absl::StrAppend(&names, words[0], "\n");
    }
    absl::string_view digits = words.size() > 2 ? words[2] : "";
    if (absl::ConsumePrefix(&digits, "sha256:") &&
        digits.size() >= kSecretBytes &&
        std::all_of(digits.begin(), digits.end(),
                    [](unsigned char c) { return absl::ascii_isxdigit(c); })) {
      digests.push_back(digits);
    }
  }
  std::erase_if(digests, [&names](absl::string_view digits) {
    return absl::StrContains(names, digits);
  });
  return digests;
}

void CheckTokens(const std::string& text) {
  const auto file = TokenFile::Parse(text, "tokens");
  if (file.ok()) {
    Check(file->size() > 0, "a file has a client");
    const Identity* const found = file->FindToken("token");
    Check(found == nullptr || !found->name.empty(), "a client has a name");
    Check(file->FindCertificate({""}) == nullptr, "no certificate is nameless");
  } else {
    for (const absl::string_view digest : DigestsOf(text)) {
      Check(!absl::StrContains(file.status().message(), digest),
            "a refusal tells no digest");
    }
  }
}

void CheckAuthorization(absl::string_view header) {
  // printf %s token | sha256sum
  static const Authorizer authorizer(
      *TokenFile::Parse("web infer sha256:3c469e9d6c5875d37a43f353d4f88e61"
                        "fcf812c66eee3457465a40b0da4153e0",
                        "tokens"),
      HealthAccess::kWithToken);
  const auto ask = [](absl::string_view shown, Scope scope) {
    return authorizer.Authorize(
        MethodSet::kAll, scope,
        {.authorization = shown, .certificate_names = {}});
  };
  static const absl::Status unknown = ask("", Scope::kInfer);
  const absl::Status infers = ask(header, Scope::kInfer);
  const absl::Status administers = ask(header, Scope::kAdmin);
  if (absl::AsciiStrToLower(header.substr(0, 7)) == "bearer " &&
      header.substr(7) == "token") {
    Check(infers.ok(), "a token lets its client in");
    Check(absl::IsPermissionDenied(administers), "and to its scopes alone");
  } else {
    Check(absl::IsUnauthenticated(unknown) && infers == unknown &&
              administers == unknown,
          "nothing else does, in words that tell nothing");
  }
}

void CheckTraceparent(absl::string_view text) {
  const std::optional<TraceContext> context = ParseTraceparent(text);
  if (context.has_value()) {
    Check(context->has_parent() && context->trace_id != TraceId{},
          "a context has ids");
    Check(absl::StartsWith(text.substr(3),
                           absl::StrCat(ToHex(context->trace_id), "-",
                                        ToHex(context->span_id), "-")),
          "ids are those that were sent");
  }
}

}  // namespace
}  // namespace ferry

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ferry::CheckFrames({data, size});
  const std::string text(data, data + size);
  ferry::CheckTokens(text);
  ferry::CheckAuthorization(text);
  ferry::CheckTraceparent(text);
  return 0;
}

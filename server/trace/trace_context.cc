// Implements TraceContext: reads traceparent, and draws ids.
#include "server/trace/trace_context.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"

namespace ferry {
namespace {

constexpr size_t kTraceparentSize = 55;  // of version 00
constexpr uint8_t kSampled = 1;

bool IsLowerHex(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c)) ||
           (c >= 'a' && c <= 'f');
  });
}

// REQUIRES: the text is of hexadecimal digits, two for each byte.
template <size_t kSize>
std::array<uint8_t, kSize> FromHex(absl::string_view text) {
  const std::string bytes = absl::HexStringToBytes(text);
  std::array<uint8_t, kSize> id{};
  std::copy_n(bytes.begin(), kSize, id.begin());
  return id;
}

// Returns nothing where an id is all zero.
std::optional<TraceContext> Checked(const TraceContext& context) {
  return context.trace_id == TraceId{} || !context.has_parent()
             ? std::nullopt
             : std::optional<TraceContext>(context);
}

// Its seed has so many bits that no two threads of many servers draw the same.
std::mt19937_64& Random() {
  thread_local std::mt19937_64 random = [] {
    std::random_device device;
    std::seed_seq seed{device(), device(), device(), device(),
                       device(), device(), device(), device()};
    return std::mt19937_64(seed);
  }();
  return random;
}

template <typename Id>
void Draw(Id& id) {
  do {
    for (size_t at = 0; at < id.size(); at += sizeof(uint64_t)) {
      const uint64_t drawn = Random()();
      std::memcpy(id.data() + at, &drawn, sizeof(drawn));
    }
  } while (id == Id{});
}

}  // namespace

std::optional<TraceContext> ParseTraceparent(absl::string_view text) {
  if (text.size() < kTraceparentSize || text[2] != '-' || text[35] != '-' ||
      text[52] != '-') {
    return std::nullopt;
  }
  const absl::string_view version = text.substr(0, 2);
  const absl::string_view trace = text.substr(3, 32);
  const absl::string_view span = text.substr(36, 16);
  const absl::string_view flags = text.substr(53, 2);
  const bool is_whole = text.size() == kTraceparentSize;
  // More may follow in a later version, behind another dash.
  if (version == "ff" || (version == "00" && !is_whole) ||
      (!is_whole && text[kTraceparentSize] != '-') || !IsLowerHex(version) ||
      !IsLowerHex(trace) || !IsLowerHex(span) || !IsLowerHex(flags)) {
    return std::nullopt;
  }
  return Checked({.trace_id = FromHex<16>(trace),
                  .span_id = FromHex<8>(span),
                  .is_sampled = (FromHex<1>(flags)[0] & kSampled) != 0});
}

TraceId NewTraceId() {
  TraceId id;
  Draw(id);
  return id;
}

SpanId NewSpanId() {
  SpanId id;
  Draw(id);
  return id;
}

bool IsDrawn(double share) {
  constexpr double kDraws = 18446744073709551616.0;  // 2^64
  return share > 0 &&
         (share >= 1 || static_cast<double>(Random()()) < share * kDraws);
}

void AppendHex(std::string& out, absl::Span<const uint8_t> id) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const size_t before = out.size();
  out.resize(before + 2 * id.size());
  char* to = out.data() + before;
  for (const uint8_t byte : id) {
    *to++ = kDigits[byte >> 4];
    *to++ = kDigits[byte & 0xf];
  }
}

std::string ToHex(absl::Span<const uint8_t> id) {
  std::string text;
  AppendHex(text, id);
  return text;
}

}  // namespace ferry

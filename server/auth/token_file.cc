// Implements TokenFile: a line a token, and a comparison with all of them.
#include "server/auth/token_file.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/check.h"

namespace ferry {
namespace {

constexpr size_t kMaxNameBytes = 64;

bool IsName(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                  c == '-' || c == '_' || c == '.';
         });
}

absl::Status Expected(absl::string_view what, absl::string_view found) {
  return absl::InvalidArgumentError(
      absl::StrCat("expected ", what, ", got ", found));
}

}  // namespace

TokenFile::Digest TokenFile::Sha256(absl::string_view text) {
  // Found once: EVP_sha256() has it looked up at each use.
  static EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  Digest digest;
  unsigned int size = 0;
  Check(EVP_Digest(text.data(), text.size(), digest.data(), &size, sha256,
                   nullptr) == 1 &&
            size == digest.size(),
        "OpenSSL has SHA-256");
  return digest;
}

absl::StatusOr<TokenFile::Entry> TokenFile::ParseLine(absl::string_view line) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  if (words.size() != 3) {
    return Expected("NAME SCOPES sha256:DIGEST or cert:NAME",
                    absl::StrCat(words.size(), " words"));
  }
  Entry entry;
  if (!IsName(words[0])) {
    return Expected(
        "a name of 1 to 64 letters, digits and -_. first in the line",
        "another");
  }
  entry.identity.name = std::string(words[0]);
  for (const absl::string_view name : absl::StrSplit(words[1], ',')) {
    const std::optional<Scope> scope = ParseScope(name);
    if (!scope.has_value()) {
      return Expected("scopes of infer, read and admin with commas between",
                      "another");
    }
    entry.identity.scopes.set(static_cast<size_t>(*scope));
  }
  absl::string_view digits = words[2];
  if (absl::ConsumePrefix(&digits, "cert:") && !digits.empty()) {
    entry.certificate = std::string(digits);
    return entry;
  }
  const bool has_kind = absl::ConsumePrefix(&digits, "sha256:");
  if (!has_kind || digits.size() != 2 * entry.digest.size() ||
      !std::all_of(digits.begin(), digits.end(), [](char c) {
        return absl::ascii_isdigit(static_cast<unsigned char>(c)) ||
               (c >= 'a' && c <= 'f');
      })) {
    return Expected(
        "sha256: and 64 hexadecimal digits in lower case last in the line, as "
        "sha256sum prints them for a token without a line's end, or cert: and "
        "a name",
        "another");
  }
  const std::string bytes = absl::HexStringToBytes(digits);
  std::copy(bytes.begin(), bytes.end(), entry.digest.begin());
  if (entry.digest == Sha256("")) {
    return Expected("the digest of a token", "that of an empty text");
  }
  return entry;
}

bool TokenFile::AreSame(const Entry& one, const Entry& other) {
  return one.identity.name == other.identity.name ||
         (one.certificate == other.certificate &&
          (!one.certificate.empty() || one.digest == other.digest));
}

absl::StatusOr<TokenFile> TokenFile::Parse(absl::string_view text,
                                           absl::string_view path) {
  TokenFile file;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (line.empty()) {
      continue;
    }
    absl::StatusOr<Entry> entry = ParseLine(line);
    if (!entry.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", number, ": ", entry.status().message()));
    }
    for (const Entry& other : file.entries_) {
      if (AreSame(other, *entry)) {
        return absl::InvalidArgumentError(absl::StrCat(
            path, ":", number,
            ": expected each name, token and certificate once, got that of '",
            other.identity.name, "' again"));
      }
    }
    file.entries_.push_back(*std::move(entry));
  }
  if (file.entries_.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": expected a line NAME SCOPES sha256:DIGEST, got none"));
  }
  return file;
}

const Identity* TokenFile::FindToken(absl::string_view token) const {
  const Digest digest = Sha256(token);
  const Identity* found = nullptr;
  for (const Entry& entry : entries_) {
    if (entry.certificate.empty() &&
        CRYPTO_memcmp(entry.digest.data(), digest.data(), digest.size()) == 0) {
      found = &entry.identity;
    }
  }
  return found;
}

const Identity* TokenFile::FindCertificate(
    absl::Span<const absl::string_view> names) const {
  for (const Entry& entry : entries_) {
    if (!entry.certificate.empty() &&
        std::find(names.begin(), names.end(), entry.certificate) !=
            names.end()) {
      return &entry.identity;
    }
  }
  return nullptr;
}

bool TokenFile::has_certificates() const {
  return std::any_of(entries_.begin(), entries_.end(), [](const Entry& entry) {
    return !entry.certificate.empty();
  });
}

}  // namespace ferry

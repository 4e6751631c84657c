// TokenFile says which clients may ask: names with scopes, and how each is
// known, by the SHA-256 of its token or by a name in its certificate.
//
// A line is `NAME SCOPE[,SCOPE..] sha256:DIGEST`, the digest in 64 lower-case
// hexadecimal digits: printf %s TOKEN | sha256sum. Or it is `NAME
// SCOPE[,SCOPE..] cert:NAME`, a common name or a subject alternative name.
// Empty lines and what follows a # are nothing. A token itself is in no file,
// and errors tell neither a token nor a digest.
//
// Thread safety: immutable.
#ifndef FERRY_SERVER_AUTH_TOKEN_FILE_H_
#define FERRY_SERVER_AUTH_TOKEN_FILE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/auth/scope.h"

namespace ferry {

struct Identity {
  std::string name;
  Scopes scopes;
};

class TokenFile {
 public:
  // `path` is for errors: INVALID_ARGUMENT with path, line, what was expected
  // and found.
  static absl::StatusOr<TokenFile> Parse(absl::string_view text,
                                         absl::string_view path);

  // Returns the identity of that token; null where it is not known. Takes as
  // long whichever it is. Valid as long as the file.
  const Identity* FindToken(absl::string_view token) const;
  // Returns the identity of the first line that has one of them; else null.
  const Identity* FindCertificate(
      absl::Span<const absl::string_view> names) const;

  bool has_certificates() const;
  size_t size() const { return entries_.size(); }

 private:
  using Digest = std::array<uint8_t, 32>;
  struct Entry {
    Identity identity;
    Digest digest{};          // of the token; zeros where it has none
    std::string certificate;  // empty: known by its token
  };

  static absl::StatusOr<Entry> ParseLine(absl::string_view line);
  static bool AreSame(const Entry& one, const Entry& other);
  static Digest Sha256(absl::string_view text);

  std::vector<Entry> entries_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_AUTH_TOKEN_FILE_H_

// TlsFiles is the server's certificate and key, and the authorities of its
// clients, as files that may be replaced while it serves: read, checked, and
// given to gRPC only where they fit each other.
//
// gRPC 1.51 watches files by itself, and where key and certificate do not fit
// it refuses each connection from then on. So it watches files in memory
// (memfd_create(2)) that this writes: what is wrong never comes into them. They
// are exchanged whole, by dup2(2), and are on no disk.
//
// Thread safety: one thread at a time.
#ifndef FERRY_SERVER_AUTH_TLS_FILES_H_
#define FERRY_SERVER_AUTH_TLS_FILES_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/owned_fd.h"
#include "server/auth/trust_options.h"

namespace ferry {

class TlsFiles {
 public:
  // Errors: NOT_FOUND for a file that cannot be read; INVALID_ARGUMENT, by
  // path, with what was expected and found: a key that others may read, no key
  // or certificate in it, a certificate that is over or not yet, or of another
  // key.
  static absl::StatusOr<std::unique_ptr<TlsFiles>> Open(const TlsPaths& paths,
                                                        absl::Time now);
  // Reads the files again where they have changed, and are as they were at the
  // last look: key and certificate are seldom replaced in one moment. Returns
  // whether others are in force now. Errors: those of Open(), once each; what
  // was there before stays in force, and the files are read again at each tenth
  // look, as what was wrong may pass without a change of them.
  absl::StatusOr<bool> Look(absl::Time now);

  // Where gRPC finds key and certificate, in one file, and the authorities.
  const std::string& identity_path() const { return identity_.path; }
  const std::string& roots_path() const { return roots_.path; }

  // Key and certificates in force, as PEM.
  const std::string& identity() const { return in_force_.identity; }
  // Whether the files were wrong when they were read last.
  bool is_stale() const { return !refusal_.empty(); }
  // When the certificate in force is over.
  absl::Time expiry() const { return in_force_.expiry; }

 private:
  struct Contents {
    std::string identity;  // key and certificates
    std::string roots;
    absl::Time expiry;
  };
  // A file in memory.
  struct Memory {
    OwnedFd fd;
    std::string path;
  };

  explicit TlsFiles(TlsPaths paths) : paths_(std::move(paths)) {}

  static absl::StatusOr<Contents> Read(const TlsPaths& paths, absl::Time now);
  // Returns what changes when a file does.
  static std::string Stamp(const TlsPaths& paths);
  // Puts a file in the place of that before, whose path stays.
  static void Put(OwnedFd filled, Memory& memory);
  absl::Status Take(Contents contents);

  const TlsPaths paths_;
  std::string stamp_;    // of what was read last
  std::string changed_;  // that of the last look
  std::string refusal_;  // why what was read last is not in force; else empty
  int looks_since_ = 0;  // it was read
  Memory identity_;
  Memory roots_;
  Contents in_force_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_AUTH_TLS_FILES_H_

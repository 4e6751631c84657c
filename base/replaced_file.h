// ReplacedFile writes a file beside the one that it replaces, and renames it
// once all of it is on the disk: a reader finds the old contents or the new,
// whole, and a full disk leaves the old.
//
// What is no regular file, as /dev/stdout, and a file in a folder that takes no
// new one are written in place.
//
// Thread safety: thread-compatible.
// Errors: UNAVAILABLE, with the file's name and what the system says.
#ifndef FERRY_BASE_REPLACED_FILE_H_
#define FERRY_BASE_REPLACED_FILE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ferry {

class ReplacedFile {
 public:
  // Ignores SIGXFSZ from then on: a write past the limit of a file's size then
  // fails instead of ending the process.
  static absl::StatusOr<std::unique_ptr<ReplacedFile>> Create(
      const std::string& path);

  // Without Close() nothing is replaced, and what was written is removed.
  ~ReplacedFile();

  ReplacedFile(const ReplacedFile&) = delete;
  ReplacedFile& operator=(const ReplacedFile&) = delete;

  // Appends. Close() tells the first error.
  void Write(absl::string_view text);

  // Puts the file in place. REQUIRES: not called before.
  absl::Status Close();

 private:
  ReplacedFile(std::string path, std::string target, std::string beside,
               int file);

  void Flush();

  const std::string path_;    // as given
  const std::string target_;  // where its links lead
  const std::string beside_;  // renamed to `target_`; empty: written in place
  int file_;                  // below 0: closed
  int error_ = 0;             // errno of the first that failed
  std::string unwritten_;
};

// Writes all of a file.
absl::Status ReplaceFile(const std::string& path, absl::string_view contents);

}  // namespace ferry

#endif  // FERRY_BASE_REPLACED_FILE_H_

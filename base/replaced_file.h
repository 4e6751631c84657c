// ReplacedFile writes a file beside the one that it replaces, and renames it
// once all of it is on the disk: a reader finds the old contents or the new,
// whole, and a full disk leaves the old. Links stay, and so do owner and mode.
//
// Where that cannot be, the contents are copied over the old file once they are
// on the disk: it has several names, may not be given the same owner, or is not
// to be renamed over, as a mount of a container or another's file in a sticky
// folder. What is no regular file, as /dev/stdout, and a file in a folder that
// takes no new one are written in place.
//
// A process that is killed leaves the old file, and what it wrote beside it as
// ".NAME.PID".
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
  // Returns 0, or errno; sets `is_torn` where the old contents are lost.
  int PutInPlace(bool& is_torn);

  const std::string path_;    // as given
  const std::string target_;  // where its links lead
  const std::string beside_;  // renamed to `target_`; empty: written in place
  bool must_copy_ = false;    // not rename
  int file_;                  // below 0: closed
  int error_ = 0;             // errno of the first that failed
  std::string unwritten_;
};

// Writes all of a file.
absl::Status ReplaceFile(const std::string& path, absl::string_view contents);

}  // namespace ferry

#endif  // FERRY_BASE_REPLACED_FILE_H_

// The reason file says why the process ended, for what has started it: as the
// termination message of a container, Kubernetes shows it with the pod.
//
// It is empty while the process runs, and where it ends with 0. Else it has a
// line with exit code or signal, after a crash also where that was, and several
// lines where one end led to another; kMaxReasonBytes in all.
//
// Thread safety: OpenReasonFile() is called once, before the others; they are
// thread-safe.
#ifndef FERRY_SERVER_REASON_FILE_H_
#define FERRY_SERVER_REASON_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ferry {

// Kubernetes takes no more of such a file.
inline constexpr size_t kMaxReasonBytes = 4096;

// Makes the file, or empties it. INVALID_ARGUMENT where it cannot be written.
absl::Status OpenReasonFile(const std::string& path);

// Writes why the process ends with that exit code; without a file nothing.
void WriteReason(absl::string_view why, int exit_code);

// Appends the text, as far as there is room. A handler of signals may call it.
void AppendReason(absl::string_view text);

}  // namespace ferry

#endif  // FERRY_SERVER_REASON_FILE_H_

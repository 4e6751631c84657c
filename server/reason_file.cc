// Implements the reason file: a descriptor, and how much was written to it.
#include "server/reason_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/printable_text.h"

namespace ferry {
namespace {

constexpr mode_t kMode = 0644;

std::atomic<int> reason_fd{-1};  // open until the process ends
std::atomic<size_t> reason_bytes{0};

}  // namespace

absl::Status OpenReasonFile(const std::string& path) {
  // A pipe without a reader is an error, not a wait.
  constexpr int kFlags =
      O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NONBLOCK | O_CLOEXEC;
  const int fd = open(path.c_str(), kFlags, kMode);
  if (fd < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--reason-file: expected a file that can be written, cannot open '",
        path, "': ", strerror(errno)));
  }
  reason_fd.store(fd, std::memory_order_seq_cst);
  return absl::OkStatus();
}

void WriteReason(absl::string_view why, int exit_code) {
  AppendReason(
      absl::StrCat(PrintableText(why), "; exit code ", exit_code, "\n"));
}

void AppendReason(absl::string_view text) {
  const int fd = reason_fd.load(std::memory_order_seq_cst);
  if (fd < 0) {
    return;
  }
  const size_t before =
      reason_bytes.fetch_add(text.size(), std::memory_order_seq_cst);
  if (before >= kMaxReasonBytes) {
    return;
  }
  // There is no place to tell of a failure.
  [[maybe_unused]] const ssize_t written =
      write(fd, text.data(), std::min(text.size(), kMaxReasonBytes - before));
}

}  // namespace ferry

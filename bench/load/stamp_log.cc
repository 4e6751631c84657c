// Implements StampLog: writes a line for each request.
#include "bench/load/stamp_log.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace ferry::bench {

absl::StatusOr<std::unique_ptr<StampLog>> StampLog::Create(
    const std::string& path) {
  auto file = ReplacedFile::Create(path);
  if (!file.ok()) {
    return file.status();
  }
  return std::unique_ptr<StampLog>(new StampLog(*std::move(file)));
}

StampLog::StampLog(std::unique_ptr<ReplacedFile> file)
    : file_(std::move(file)) {
  file_->Write("point,class,planned_ns,sent_ns,ended_ns,code\n");
}

void StampLog::Add(const LoadResult& load) {
  for (const Stamp& stamp : load.stamps) {
    file_->Write(absl::StrCat(points_, ",", stamp.of_class, ",",
                              stamp.planned.count(), ",", stamp.sent.count(),
                              ",", stamp.ended.count(), ",",
                              CodeName(static_cast<size_t>(stamp.code)), "\n"));
  }
  ++points_;
}

absl::Status StampLog::Close() { return file_->Close(); }

}  // namespace ferry::bench

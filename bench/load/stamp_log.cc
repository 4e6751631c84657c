// Implements StampLog: writes a line for each request.
#include "bench/load/stamp_log.h"

#include "absl/strings/str_cat.h"

namespace ferry::bench {

absl::StatusOr<std::unique_ptr<StampLog>> StampLog::Create(
    const std::string& path) {
  std::unique_ptr<StampLog> log(new StampLog(path));
  if (!log->file_) {
    return absl::UnavailableError(absl::StrCat("cannot write ", path));
  }
  return log;
}

StampLog::StampLog(const std::string& path)
    : path_(path), file_(path, std::ios::trunc) {
  file_ << "point,class,planned_ns,sent_ns,ended_ns,code\n";
}

void StampLog::Add(const LoadResult& load) {
  for (const Stamp& stamp : load.stamps) {
    file_ << points_ << ',' << stamp.of_class << ',' << stamp.planned.count()
          << ',' << stamp.sent.count() << ',' << stamp.ended.count() << ','
          << CodeName(static_cast<size_t>(stamp.code)) << '\n';
  }
  ++points_;
}

absl::Status StampLog::Close() {
  file_.close();
  return file_ ? absl::OkStatus()
               : absl::UnavailableError(absl::StrCat("cannot write ", path_));
}

}  // namespace ferry::bench

// RecordingSource is where a command has its recording from: a file, a running
// server, or a Prometheus.
//
// Thread safety: thread-compatible; free functions.
// Errors: INVALID_ARGUMENT where not one of the three is given, or a flag or
// file is wrong; those of RecordServer() and RecordFromPrometheus().
#ifndef FERRY_DEPLOY_CTL_RECORDING_SOURCE_H_
#define FERRY_DEPLOY_CTL_RECORDING_SOURCE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "deploy/ctl/http_source.h"
#include "deploy/ctl/prometheus_recording.h"

namespace CLI {
class App;
}  // namespace CLI

namespace ferry::ctl {

struct RecordingFlags {
  std::string path;
  int64_t duration_s = 0;
  std::string address = "127.0.0.1:8002";
  std::string prometheus;
  PrometheusWindow window;
  HttpFiles http;
  double link_gb_per_second = 0;  // 1e9 bytes; 0: not known
  std::string save_path;          // empty: the recording is not kept

  bool is_given() const {
    return !path.empty() || duration_s > 0 || !prometheus.empty();
  }
  // What is asked; empty for a file.
  const std::string& server() const {
    return duration_s > 0 ? address : prometheus;
  }
};

// `flags` outlives the parsing.
void AddRecordingFlags(CLI::App& command, RecordingFlags& flags);

// Blocks for as long as a running server is recorded.
absl::StatusOr<NamedRecording> Record(const RecordingFlags& flags);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_RECORDING_SOURCE_H_

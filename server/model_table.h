// ModelTable: the served models as requests look them up, with what the
// service itself counts and knows about each.
//
// Thread safety: thread-safe; no lock. The models outlive it.
// Errors: NOT_FOUND for a model or version that is not served,
// INVALID_ARGUMENT for a version that is no number; the text quotes the client.
#ifndef FERRY_SERVER_MODEL_TABLE_H_
#define FERRY_SERVER_MODEL_TABLE_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "models/served_model.h"

namespace ferry {

struct ModelEntry {
  explicit ModelEntry(const ServedModel& served)
      : model(served), version(std::to_string(served.version)) {}

  const ServedModel& model;
  const std::string version;             // as the protocol writes it
  const uint64_t serial = NextSerial();  // differs for every entry ever made
  // Requests that named this model and failed the codec's checks.
  std::atomic<uint64_t> invalid_requests{0};
  // What a refused client is told to wait, from the last observed throughput.
  std::atomic<int64_t> retry_pushback_ms{50};

 private:
  static uint64_t NextSerial() {
    static std::atomic<uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }
};

class ModelTable {
 public:
  // REQUIRES: names and versions differ.
  explicit ModelTable(absl::Span<const ServedModel* const> models);

  // Version "": the latest. The entry lives as long as the table.
  absl::StatusOr<ModelEntry*> Find(const std::string& name,
                                   const std::string& version);

  // All versions, in the order given.
  std::deque<ModelEntry>& entries() { return entries_; }
  const std::deque<ModelEntry>& entries() const { return entries_; }

  // Messages that were no ModelInferRequest, or named no served model.
  void CountMalformed() { Add(malformed_requests_); }
  void CountUnknownModel() { Add(unknown_model_requests_); }
  uint64_t malformed_requests() const { return malformed_requests_.load(); }
  uint64_t unknown_model_requests() const {
    return unknown_model_requests_.load();
  }

 private:
  static void Add(std::atomic<uint64_t>& counter) {
    counter.fetch_add(1, std::memory_order_relaxed);
  }

  std::deque<ModelEntry> entries_;  // in place, because they do not move
  // Newest version first. Constant after construction.
  absl::flat_hash_map<std::string, std::vector<ModelEntry*>> by_name_;
  std::atomic<uint64_t> malformed_requests_{0};
  std::atomic<uint64_t> unknown_model_requests_{0};
};

}  // namespace ferry

#endif  // FERRY_SERVER_MODEL_TABLE_H_

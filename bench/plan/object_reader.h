// ParseObject() reads JSON; ObjectReader takes members out of one object and
// keeps the first thing that was wrong, so that its user reads on and asks
// once, at the end.
//
// Thread safety: thread-compatible. For .cc files: it brings nlohmann's JSON.
// Errors: INVALID_ARGUMENT, "WHERE: KEY: expected .., got ..".
#ifndef FERRY_BENCH_PLAN_OBJECT_READER_H_
#define FERRY_BENCH_PLAN_OBJECT_READER_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ferry::plan {

// Returns the JSON of a text; `name` is for the message. nlohmann reports by
// exception: this is its edge.
absl::StatusOr<nlohmann::json> ParseObject(const std::string& text,
                                           const std::string& name);

class ObjectReader {
 public:
  // `json` outlives it and may be of any kind. `where` begins each message.
  ObjectReader(const nlohmann::json& json, std::string where);

  // Each returns the member, or where it is wrong "", 0 or an empty list.
  // `expected` is for the message.

  // Text that is not empty.
  std::string Text(const std::string& key, const std::string& expected);

  // A number from 0 to kLargestNumber. `absent` is returned where there is no
  // such key; without it the key must be there.
  double Number(const std::string& key, const std::string& expected,
                std::optional<double> absent);

  // A list that is not empty.
  const nlohmann::json& List(const std::string& key,
                             const std::string& expected);

  // Returns the member, of whatever kind; null where there is none.
  const nlohmann::json* Find(const std::string& key);

  // Keeps an error about a member; that it was wrong is known elsewhere.
  void Refuse(const std::string& key, const std::string& expected);

  // Returns the first error; one of a key that was not asked for is the last.
  absl::Status Finish();

 private:
  const nlohmann::json& json_;
  const std::string where_;
  std::set<std::string> known_;
  absl::Status status_;
};

}  // namespace ferry::plan

#endif  // FERRY_BENCH_PLAN_OBJECT_READER_H_

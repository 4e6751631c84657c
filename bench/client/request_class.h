// RequestClass is one kind of request in a mix, as `--class` describes it.
//
// Thread safety: plain values; ClassPicker's methods are const.
// Errors: INVALID_ARGUMENT, with what was expected and what was found.
#ifndef FERRY_BENCH_CLIENT_REQUEST_CLASS_H_
#define FERRY_BENCH_CLIENT_REQUEST_CLASS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"

namespace ferry::bench {

struct RequestClass {
  std::string name = "all";
  double weight = 1;         // its share is that of the sum of all weights
  std::string model = {};    // empty: the command's
  int32_t rows = 1;          // of each request
  int32_t priority = 0;      // parameter 'priority'; 0: none
  Duration deadline{0};      // gRPC; 0: none
  Duration timeout{0};       // parameter 'timeout'; 0: none
  double cancel_share = 0;   // of its requests, cancelled by the client
  Duration cancel_after{0};  // of those, after the send
  std::vector<std::string> shapes = {};  // as --shape has them
  std::string data = {};  // as --data has it; empty: the command's
};

// Takes KEY=VALUE of a class; returns whether it was understood.
using ReadClassPart =
    std::function<bool(absl::string_view key, absl::string_view value)>;

// Reads "NAME:KEY=VALUE,...", the grammar of every --class: calls `read` for
// each part, and returns the name. `keys`: those there are, for the message.
absl::StatusOr<std::string> ReadClass(const std::string& text,
                                      absl::string_view keys,
                                      const ReadClassPart& read);

// Reads values that the keys of several commands share: "weight", "rows",
// "priority" and "timeout_ms". Returns whether it is one of them, in its range.
bool ReadCommonPart(absl::string_view key, absl::string_view value,
                    RequestClass& read);

// Whether the text is a number from `low` to `high`.
bool ReadNumber(absl::string_view text, double low, double high, double& value);

// Reads "NAME:weight=0.2,rows=4,priority=1,deadline_ms=50,timeout_ms=50,
// cancel=0.1,cancel_ms=5,model=m,shape=ids:16x4,data=PATH", each part after the
// name optional and otherwise as in `defaults`.
absl::StatusOr<RequestClass> ParseRequestClass(const std::string& text,
                                               const RequestClass& defaults);

// Which class a request is of, by its number: a request of the same number is
// always of the same one, in any process.
class ClassPicker {
 public:
  // REQUIRES: at least one weight, all above 0.
  explicit ClassPicker(const std::vector<double>& weights);

  size_t ClassOf(uint64_t number) const;

  // Whether a request is of those, of that share, that are chosen by its number
  // as well, independent of its class.
  static bool IsOfShare(uint64_t number, double share);

 private:
  std::vector<double> upto_;  // [class]: of [0, 1), ascending
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_CLIENT_REQUEST_CLASS_H_

// HashOfFlags() makes hashes that tell whether two runs were configured alike.
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_REPORT_CONFIG_HASH_H_
#define FERRY_BENCH_REPORT_CONFIG_HASH_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace ferry::bench {

// Returns the SHA-256 of the bytes as 64 hexadecimal digits.
std::string Sha256Of(absl::string_view bytes);

// Returns the Sha256Of() lines NAME=VALUE in order of the names, of the flags
// that say what is put on a server and how it is measured: not which server,
// nor what is written and where. "" of no flags, as in older files.
std::string HashOfFlags(const std::map<std::string, std::string>& flags);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_CONFIG_HASH_H_

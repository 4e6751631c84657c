// Implements Sha256Of(), by OpenSSL, and HashOfFlags().
#include "bench/report/config_hash.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace ferry::bench {
namespace {

// Which server is measured, and what is written.
constexpr absl::string_view kLeftOut[] = {"address",
                                          "against",
                                          "against-label",
                                          "against-metrics",
                                          "against-nvml",
                                          "aiperf",
                                          "csv",
                                          "fail-if",
                                          "html",
                                          "inference-perf",
                                          "json",
                                          "label",
                                          "log",
                                          "markdown",
                                          "metrics",
                                          "nvml",
                                          "perf-analyzer-csv"};

}  // namespace

std::string Sha256Of(absl::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  Check(EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size,
                   EVP_sha256(), nullptr) == 1,
        "OpenSSL has SHA-256");
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(digest.data()), size));
}

std::string HashOfFlags(const std::map<std::string, std::string>& flags) {
  if (flags.empty()) {
    return "";
  }
  std::string lines;
  for (const auto& [name, value] : flags) {
    if (std::find(std::begin(kLeftOut), std::end(kLeftOut), name) ==
        std::end(kLeftOut)) {
      absl::StrAppend(&lines, name, "=", value, "\n");
    }
  }
  return Sha256Of(lines);
}

}  // namespace ferry::bench

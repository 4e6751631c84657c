// Implements SourceFlags.
#include "deploy/ctl/source_flags.h"

#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "deploy/ctl/time_text.h"

namespace ferry::ctl {
namespace {

constexpr int64_t kLongestWindowS = 366 * kDayS;

}  // namespace

CLI::Option* AsTime(CLI::Option* option, int64_t most_s) {
  const auto to_seconds = [most_s](std::string& text) {
    static const std::map<char, int64_t> kUnits = {
        {'s', 1}, {'m', 60}, {'h', kHourS}, {'d', kDayS}};
    const auto unit = kUnits.find(text.empty() ? '\0' : text.back());
    int64_t count = 0;
    if (unit == kUnits.end() ||
        !absl::SimpleAtoi(text.substr(0, text.size() - 1), &count) ||
        count < 1 || count > most_s / unit->second) {
      return absl::StrCat(
          "expected a whole number of s, m, h or d, as 60s, at most ", most_s,
          "s, got '", text, "'");
    }
    text = absl::StrCat(count * unit->second);
    return std::string();
  };
  return option->transform(CLI::Validator(to_seconds, ""))
      ->type_name("N{s,m,h,d}");
}

CLI::Option* AddFromFlag(CLI::App& command, std::string& address) {
  return command.add_option(
      "--from", address,
      "where its metrics are: host:port, or a URL of http or https");
}

CLI::Option* AddPrometheusFlags(CLI::App& command, std::string& url,
                                PrometheusWindow& window) {
  CLI::Option* const prometheus =
      command
          .add_option("--from-prometheus", url,
                      "a Prometheus that has scraped the server")
          ->type_name("URL");
  AsTime(command.add_option("--window", window.window_s,
                            "how far back to look in that"),
         kLongestWindowS)
      ->default_str("7d")
      ->needs(prometheus);
  command
      .add_option("--label", window.labels,
                  "of the server, where there are several: instance=HOST:PORT")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->needs(prometheus);
  return prometheus;
}

}  // namespace ferry::ctl

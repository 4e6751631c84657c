// Implements the answers of running servers.
#include "deploy/ctl/server_answers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/printable_text.h"
#include "deploy/ctl/time_text.h"

namespace ferry::ctl {
namespace {

using Known = std::optional<double>;
using Rows = std::vector<std::vector<std::string>>;

constexpr double kPercent = 100;
constexpr double kGibibyte = 1 << 30;
constexpr double kMicrosPerMilli = 1000;
constexpr char kReady[] = "ready";
// The index's reason of a version that was taken out on purpose.
constexpr char kUnloaded[] = "unloaded";

std::string Cell(const Known& value, int digits) {
  return value.has_value() ? absl::StrFormat("%.*f", digits, *value) : "-";
}

// Returns why a server is not ready, by its state.
std::string WhyNotReady(const ServerLook& look) {
  if (look.state == "incomplete") {
    return "it serves, but lacks a model of its start";
  }
  if (look.state == "draining") {
    return "it was told to stop, and answers what it has";
  }
  if (look.state == "lost") {
    return "a device is lost, something hangs or memory runs out, and it ends";
  }
  return look.state == kReady
             ? "a port has no descriptors left, all models are at a batch for "
               "too long, or a thread does not turn: its log says which"
             : absl::StrCat("its state is '", look.state, "'");
}

// Returns "HOST is ready." or "2 of 3 servers are ready."
std::string SentenceOf(const std::string& first, size_t servers, size_t good,
                       const std::string& word) {
  return servers == 1
             ? absl::StrCat(first, good == 1 ? " is " : " is not ", word, ".")
             : absl::StrCat(good, " of ", servers, " servers are ", word, ".");
}

std::string AboutServer(const ServerLook& look) {
  std::vector<std::string> refusals;
  for (const auto& [reason, count] : look.refusals) {
    refusals.push_back(absl::StrFormat("%s %.0f", reason, count));
  }
  return absl::StrCat(
      "ferry-server ", look.server_version, ", ",
      look.is_ready ? kReady : "not ready", ", up since ",
      TimeText(static_cast<int64_t>(look.start_s)), "; refused since then: ",
      refusals.empty() ? "none" : absl::StrJoin(refusals, ", "));
}

std::string AboutDevice(const DeviceLook& device) {
  std::string text = device.name;
  if (!device.profile.empty()) {
    absl::StrAppend(&text, " ", device.profile);
  }
  const auto add = [&text](const char* what, const Known& value, double unit,
                           const std::string& behind) {
    if (value.has_value()) {
      absl::StrAppend(&text, ", ", what, absl::StrFormat("%.0f", *value * unit),
                      behind);
    }
  };
  add("busy ", device.busy_ratio, kPercent, " %");
  add("multiprocessors ", device.sm_ratio, kPercent, " %");
  if (device.memory_bytes.has_value() &&
      device.memory_total_bytes.has_value()) {
    absl::StrAppend(&text,
                    absl::StrFormat(", memory %.1f of %.1f GiB",
                                    *device.memory_bytes / kGibibyte,
                                    *device.memory_total_bytes / kGibibyte));
  }
  add("", device.power_watts, 1, " W");
  add("", device.temperature_celsius, 1, " degrees Celsius");
  return text;
}

// Returns the row of a version, behind that of its server.
std::vector<std::string> RowOf(const VersionLook& look) {
  return {look.name,
          look.version.empty() ? "-" : look.version,
          look.state,
          Cell(look.load, 2),
          Cell(look.queued_requests, 0),
          Cell(look.requests_per_second, 1),
          Cell(look.p50_ms, 1),
          Cell(look.p99_ms, 1),
          Cell(look.rows_per_batch, 1),
          Cell(look.refused_per_second, 1)};
}

void AddVersions(const ServerLook& look, bool is_alone, Answer& answer) {
  for (const VersionLook& version : look.versions) {
    std::vector<std::string> row = RowOf(version);
    if (!is_alone) {
      row.insert(row.begin(), look.address);
    }
    answer.table.rows.push_back(std::move(row));
    if (!version.reason.empty() && version.reason != kUnloaded) {
      answer.findings.push_back(
          {Severity::kWarning, "version",
           absl::StrCat("'", version.name, "' ", version.version,
                        version.version.empty() ? "" : " ", "at ", look.address,
                        ", ", version.state, ": ", version.reason)});
    }
  }
}

void AddFailure(const std::string& address, const absl::Status& failure,
                Answer& answer) {
  const bool is_silent = absl::IsUnavailable(failure);
  answer.inputs.emplace_back(address, is_silent ? "no answer" : "no page");
  answer.findings.push_back({Severity::kCritical,
                             is_silent ? "unreachable" : "not_readable",
                             std::string(failure.message())});
}

void AddServer(const ServerLook& look, bool is_alone, Answer& answer) {
  if (!look.failure.ok()) {
    AddFailure(look.address, look.failure, answer);
    return;
  }
  answer.inputs.emplace_back(look.address, AboutServer(look));
  if (look.device.has_value()) {
    answer.inputs.emplace_back(absl::StrCat("device of ", look.address),
                               AboutDevice(*look.device));
  }
  if (!look.is_ready) {
    answer.findings.push_back(
        {Severity::kCritical, "not_ready",
         absl::StrCat(look.address, " is not ready: ", WhyNotReady(look))});
  }
  AddVersions(look, is_alone, answer);
}

// Returns a row for each option: its name, as the flag's, and its value.
Rows OptionRows(const v1::RuntimeOptions& options) {
  return {{"max-batch-size", absl::StrCat(options.max_batch_size())},
          {"policy", PrintableText(options.policy())},
          {"max-wait-ms",
           absl::StrCat(static_cast<double>(options.max_wait_microseconds()) /
                        kMicrosPerMilli)},
          {"queue-requests", absl::StrCat(options.queue_requests())},
          {"queue-rows", absl::StrCat(options.queue_rows())},
          {"queue-bytes", absl::StrCat(options.queue_bytes())}};
}

}  // namespace

Answer StatusAnswer(const std::vector<ServerLook>& looks) {
  const bool is_alone = looks.size() == 1;
  Answer answer;
  answer.command = "status";
  answer.sentence =
      SentenceOf(looks.front().address, looks.size(),
                 static_cast<size_t>(std::count_if(
                     looks.begin(), looks.end(),
                     [](const ServerLook& look) { return look.is_ready; })),
                 kReady);
  answer.table.headings = {"model", "version", "state",  "load",  "queue",
                           "req/s", "p50 ms",  "p99 ms", "batch", "refused/s"};
  if (!is_alone) {
    answer.table.headings.insert(answer.table.headings.begin(), "server");
  }
  for (const ServerLook& look : looks) {
    AddServer(look, is_alone, answer);
  }
  return answer;
}

Answer HealthAnswer(const std::string& wanted,
                    const std::vector<Health>& servers) {
  Answer answer;
  answer.command = "health";
  size_t good = 0;
  for (const Health& server : servers) {
    if (!server.failure.ok()) {
      AddFailure(server.address, server.failure, answer);
      continue;
    }
    answer.inputs.emplace_back(
        server.address, absl::StrCat(server.is_good ? "" : "not ", wanted));
    if (server.is_good) {
      ++good;
      continue;
    }
    answer.findings.push_back(
        {Severity::kCritical, absl::StrCat("not_", wanted),
         absl::StrCat(server.address, " is not ", wanted,
                      server.reason.empty() ? "" : ": ", server.reason)});
  }
  answer.sentence =
      SentenceOf(servers.front().address, servers.size(), good, wanted);
  return answer;
}

Answer RuntimeOptionsAnswer(const std::string& address,
                            const std::string& model,
                            const v1::RuntimeOptions& before,
                            const std::optional<v1::RuntimeOptions>& after) {
  Answer answer;
  answer.command = "set";
  answer.inputs = {{"server", address}};
  answer.table.rows = OptionRows(before);
  if (!after.has_value()) {
    answer.sentence = absl::StrCat("The runtime options of ", model, ".");
    answer.table.headings = {"option", "in force"};
    return answer;
  }
  answer.table.headings = {"option", "before", "in force"};
  Rows rows = OptionRows(*after);
  size_t changed = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    answer.table.rows[i].push_back(rows[i].back());
    changed += answer.table.rows[i][1] == rows[i].back() ? 0 : 1;
  }
  answer.sentence = absl::StrCat(
      changed == 0   ? "No runtime option"
      : changed == 1 ? "1 runtime option"
                     : absl::StrCat(changed, " runtime options"),
      " of ", model, changed > 1 ? " have changed." : " has changed.");
  return answer;
}

Answer DrainAnswer(const std::string& address, ServerEnd end,
                   double timeout_s) {
  Answer answer;
  answer.command = "drain";
  switch (end) {
    case ServerEnd::kGone:
      answer.sentence = absl::StrCat(address, " has drained, and is gone.");
      break;
    case ServerEnd::kReplaced:
      answer.sentence = absl::StrCat(
          address, " has drained, and another server answers there now.");
      break;
    case ServerEnd::kUnseen:
      answer.sentence = absl::StrCat(address, " is gone.");
      answer.findings.push_back(
          {Severity::kNote, "was_not_ready",
           absl::StrCat(address,
                        " was not ready before either, so its health cannot "
                        "say that it drains: its log and exit code do")});
      break;
    case ServerEnd::kLost:
      answer.sentence = absl::StrCat(address, " is gone.");
      answer.findings.push_back(
          {Severity::kCritical, "not_seen_to_drain",
           absl::StrCat("expected ", address,
                        " to say that it drains before it is gone, heard "
                        "nothing of it: its log and exit code say whether it "
                        "answered what it had")});
      break;
    case ServerEnd::kStillThere:
      answer.sentence =
          absl::StrCat(address, " was told to drain, and is still there.");
      answer.findings.push_back(
          {Severity::kCritical, "still_there",
           absl::StrCat("expected ", address, " to be gone within ", timeout_s,
                        " s, found it there; it goes on to drain, for its "
                        "--drain-delay-secs and --exit-timeout-secs at most: "
                        "wait longer with --timeout-secs")});
      break;
  }
  return answer;
}

}  // namespace ferry::ctl

// Implements the checks of doctor_checks.h that look at the system, and
// DoctorAnswer().
#include "deploy/ctl/doctor_checks.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "deploy/ctl/doctor_words.h"

namespace ferry::ctl {
namespace {

constexpr int64_t kMiB = 1 << 20;

// The server keeps so many files, or a quarter, from connections, and asks for
// so many at most: server/net/open_files.cc.
constexpr int64_t kReservedFiles = 64;
constexpr int64_t kMostFiles = int64_t{1} << 20;
constexpr int64_t kUsualFiles = 1024;  // a shell's, unless it asks for more

constexpr const char* kThreadFlags[] = {"--threads", "--device-instances",
                                        "--grpc-infer-thread-count"};

// Clocks that the kernel reads without a call, and those that take a
// microsecond or more: arch/x86/kernel/hpet.c, drivers/clocksource/acpi_pm.c.
constexpr std::array<absl::string_view, 4> kFastClocks = {
    "tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"};
constexpr std::array<absl::string_view, 4> kSlowClocks = {
    "hpet", "acpi_pm", "jiffies", "refined-jiffies"};

template <typename Values>
bool Has(const Values& values, absl::string_view value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

std::optional<int64_t> NumberAt(const NamedValues& flags,
                                const std::string& name) {
  int64_t number = 0;
  const auto value = ValueOf(flags, name);
  return value.has_value() && absl::SimpleAtoi(*value, &number)
             ? std::optional<int64_t>(number)
             : std::nullopt;
}

// Returns by its flag where ferry-server would listen; port 0 is any free one.
std::map<std::string, Endpoint> EndpointsOf(const NamedValues& flags) {
  constexpr char kLoopback[] = "127.0.0.1";  // the server's default
  std::map<std::string, Endpoint> endpoints;
  const auto add = [&](const char* flag, const std::string& address,
                       const std::string& value) {
    int port = 0;
    if (absl::SimpleAtoi(value, &port) && port > 0) {
      endpoints[flag] = EndpointOf(address, port);
    }
  };
  const auto is_socket = [](const std::string& address) {
    return absl::StartsWith(address, "unix:");
  };
  const std::string grpc = ValueOf(flags, "--grpc-address").value_or(kLoopback);
  if (!is_socket(grpc)) {
    add("--grpc-port", grpc, ValueOf(flags, "--grpc-port").value_or("8001"));
  }
  add("--metrics-port", ValueOf(flags, "--metrics-address").value_or(kLoopback),
      ValueOf(flags, "--metrics-port").value_or("8002"));
  const auto admin = ValueOf(flags, "--admin-address");
  if (admin.has_value() && !is_socket(*admin)) {
    const size_t colon = std::min(admin->rfind(':'), admin->size());
    absl::string_view host = absl::string_view(*admin).substr(0, colon);
    absl::ConsumePrefix(&host, "[");
    absl::ConsumeSuffix(&host, "]");
    add("--admin-address", std::string(host),
        admin->substr(std::min(colon + 1, admin->size())));
  }
  return endpoints;
}

// Whether two servers cannot listen there.
bool Overlap(const Endpoint& one, const Endpoint& other) {
  return one.port == other.port &&
         (one.ip.empty() || other.ip.empty() || one.ip == other.ip);
}

// Judges a port that something listens on.
Finding OfTakenPort(const Endpoint& endpoint, const std::string& what,
                    const DoctorFacts& facts) {
  const int port = endpoint.port;
  const std::string taken = absl::StrCat("port ", port, ", ", what);
  const std::string look = absl::StrCat("`ss -ltnp 'sport = :", port,
                                        "'` says which process: end "
                                        "it, or give another port");
  if (!facts.processes.ok()) {
    return {Severity::kWarning, "port_in_use",
            absl::StrCat(taken,
                         ", is in use; whether by a ferry-server is "
                         "unknown: ",
                         std::string(facts.processes.status().message()), "; ",
                         look)};
  }
  for (const Process& process : *facts.processes) {
    if (process.program != kServerProgram) {
      continue;
    }
    for (const auto& [flag, its_endpoint] : EndpointsOf(process.flags)) {
      if (Overlap(its_endpoint, endpoint)) {
        return {Severity::kNote, "port_is_served",
                absl::StrCat(taken,
                             ", is that of a ferry-server that runs, "
                             "process ",
                             process.id, ": a second one cannot have it")};
      }
    }
  }
  return {Severity::kCritical, "port_in_use",
          absl::StrCat(taken, ", is in use, and by no ferry-server: ", look)};
}

// Returns the gravest of a check in one word.
std::string Verdict(const Check& check) {
  Severity gravest = Severity::kNote;
  for (const Finding& finding : check.findings) {
    gravest = std::max(gravest, finding.severity);
  }
  if (gravest == Severity::kCritical) {
    return SeverityName(gravest);
  }
  if (check.outcome == Check::Outcome::kUnknown) {
    return "unknown";
  }
  if (check.outcome == Check::Outcome::kNothing) {
    return "nothing to look at";
  }
  return gravest == Severity::kNote ? "fine" : SeverityName(gravest);
}

std::string Sentence(const std::vector<Check>& checks) {
  std::vector<std::string> parts;
  for (const char* const verdict :
       {"fine", "warning", "critical", "unknown", "nothing to look at"}) {
    const auto count = std::count_if(
        checks.begin(), checks.end(),
        [&](const Check& check) { return Verdict(check) == verdict; });
    if (count > 0) {
      parts.push_back(absl::StrCat(verdict, " ", count));
    }
  }
  return absl::StrCat("Checks: ", checks.size(), ", ",
                      absl::StrJoin(parts, ", "), ".");
}

std::string Sources(const DoctorFacts& facts) {
  if (!facts.servers.ok()) {
    return "unknown";
  }
  if (facts.servers->empty()) {
    return "none named; give flags behind --, or a folder of env files by "
           "--env";
  }
  return absl::StrJoin(*facts.servers, ", ",
                       [](std::string* out, const PlannedServer& server) {
                         out->append(server.source);
                       });
}

}  // namespace

std::optional<std::string> ValueOf(const NamedValues& values,
                                   const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? std::nullopt
                               : std::optional<std::string>(found->second);
}

Check Unknown(Check check, const std::string& finding,
              const absl::Status& reason) {
  check.outcome = Check::Outcome::kUnknown;
  check.evidence = std::string("-");
  check.findings.push_back(
      {Severity::kWarning, finding,
       absl::StrCat(check.name, ": unknown: ", std::string(reason.message()))});
  return check;
}

Check Nothing(Check check, const std::string& why) {
  check.outcome = Check::Outcome::kNothing;
  check.evidence = why;
  return check;
}

void AddUnread(const std::string& what, nvml::Code code, Check& check) {
  if (code == nvml::Code::kNoPermission) {
    check.outcome = Check::Outcome::kUnknown;
    check.findings.push_back(
        {Severity::kWarning, "gpu_is_unknown",
         absl::StrCat(what, ": unknown: NVML says ", nvml::CodeName(code),
                      "; ask as root")});
    return;
  }
  check.findings.push_back(
      {Severity::kCritical, "gpu_lost",
       absl::StrCat(what, " cannot be looked at, NVML says ",
                    nvml::CodeName(code), ": ", kResetRemedy)});
}

Check CheckPorts(const DoctorFacts& facts) {
  Check check = {.name = "ports"};
  if (!facts.servers.ok()) {
    return Unknown(check, "servers_are_unknown", facts.servers.status());
  }
  std::map<Endpoint, std::vector<std::string>> wanted;
  std::set<int> ports;
  for (const PlannedServer& server : *facts.servers) {
    for (const auto& [flag, endpoint] : EndpointsOf(server.flags)) {
      wanted[endpoint].push_back(absl::StrCat(flag, " of ", server.source));
      ports.insert(endpoint.port);
    }
  }
  if (wanted.empty()) {
    return Nothing(check, "no server is named");
  }
  check.evidence = absl::StrJoin(ports, ", ");
  for (const auto& [endpoint, first] : wanted) {
    std::vector<std::string> flags = first;
    for (const auto& [other, its] : wanted) {
      if (endpoint < other && Overlap(endpoint, other)) {
        flags.insert(flags.end(), its.begin(), its.end());
      }
    }
    if (flags.size() > 1) {
      check.findings.push_back(
          {Severity::kCritical, "port_given_twice",
           absl::StrCat("port ", endpoint.port, " is given ", flags.size(),
                        " times, ", absl::StrJoin(flags, ", "),
                        ": expected one each")});
    }
  }
  if (!facts.listening.ok()) {
    return Unknown(check, "ports_are_unknown", facts.listening.status());
  }
  for (const auto& [endpoint, flags] : wanted) {
    if (std::any_of(facts.listening->begin(), facts.listening->end(),
                    [&endpoint = endpoint](const Endpoint& taken) {
                      return Overlap(taken, endpoint);
                    })) {
      check.findings.push_back(OfTakenPort(endpoint, flags[0], facts));
    }
  }
  return check;
}

Check CheckOpenFiles(const DoctorFacts& facts) {
  Check check = {.name = "open files"};
  if (!facts.open_files.ok()) {
    return Unknown(check, "open_files_are_unknown", facts.open_files.status());
  }
  if (!facts.servers.ok()) {
    return Unknown(check, "servers_are_unknown", facts.servers.status());
  }
  constexpr char kRaise[] =
      "raise it: `ulimit -Hn`, LimitNOFILE of the unit, --ulimit nofile of the "
      "container";
  const int64_t limit = std::min(*facts.open_files, kMostFiles);
  const int64_t free = limit - std::min(kReservedFiles, limit / 4);
  check.evidence = absl::StrCat(limit);
  if (limit < kUsualFiles) {
    check.findings.push_back(
        {Severity::kWarning, "open_files_low",
         absl::StrCat("the limit of open files is ", limit, ", so ", free,
                      " are for connections: ", kRaise)});
  }
  for (const PlannedServer& server : *facts.servers) {
    const auto most = NumberAt(server.flags, "--grpc-max-connections");
    if (most.has_value() && *most > free) {
      check.findings.push_back(
          {Severity::kWarning, "open_files_below_connections",
           absl::StrCat(server.source, ": --grpc-max-connections is ", *most,
                        ", the limit of open files ", limit, " leaves ", free,
                        " for them: ", kRaise)});
    }
  }
  return check;
}

Check CheckProcessors(const DoctorFacts& facts) {
  Check check = {.name = "processors of the control group"};
  if (!facts.processors.ok()) {
    return Unknown(check, "processors_are_unknown", facts.processors.status());
  }
  if (!facts.servers.ok()) {
    return Unknown(check, "servers_are_unknown", facts.servers.status());
  }
  const int quota = *facts.processors;
  if (quota == std::numeric_limits<int>::max()) {
    check.evidence = "no quota";
    return check;
  }
  check.evidence = absl::StrCat(quota);
  for (const PlannedServer& server : *facts.servers) {
    for (const char* const flag : kThreadFlags) {
      const auto threads = NumberAt(server.flags, flag);
      if (threads.has_value() && *threads > quota) {
        check.findings.push_back(
            {Severity::kWarning, "threads_above_quota",
             absl::StrCat(server.source, ": ", flag, " is ", *threads,
                          ", the control group's quota ", quota,
                          " of processors: more threads stop each other until "
                          "the next period; give ",
                          quota,
                          " at most, or raise the quota (cpu.max, CPU "
                          "limit, CPUQuota)")});
      }
    }
  }
  return check;
}

Check CheckMemory(const DoctorFacts& facts) {
  Check check = {.name = "memory of the control group"};
  if (!facts.memory_bytes.ok()) {
    return Unknown(check, "memory_is_unknown", facts.memory_bytes.status());
  }
  if (!facts.servers.ok()) {
    return Unknown(check, "servers_are_unknown", facts.servers.status());
  }
  const int64_t limit = *facts.memory_bytes;
  if (limit == std::numeric_limits<int64_t>::max()) {
    check.evidence = "no limit";
    return check;
  }
  check.evidence = absl::StrCat(limit / kMiB, " MiB");
  check.findings.push_back(
      {Severity::kNote, "memory_is_limited",
       absl::StrCat("the control group allows ", limit / kMiB,
                    " MiB to weights, requests and pinned memory together; "
                    "past it the kernel ends a process")});
  for (const PlannedServer& server : *facts.servers) {
    const auto bytes = NumberAt(server.flags, "--grpc-memory-bytes");
    if (bytes.has_value() && *bytes >= limit) {
      check.findings.push_back(
          {Severity::kCritical, "requests_above_memory",
           absl::StrCat(server.source, ": --grpc-memory-bytes is ", *bytes,
                        ", the control group allows ", limit,
                        ": the kernel ends the server before it refuses a "
                        "request; leave the flag out for a quarter, or raise "
                        "the limit (memory.max, MemoryMax)")});
    }
  }
  return check;
}

Check CheckClockSource(const DoctorFacts& facts) {
  Check check = {.name = "clock source"};
  if (!facts.clock_source.ok()) {
    return Unknown(check, "clock_source_is_unknown",
                   facts.clock_source.status());
  }
  const std::string& source = *facts.clock_source;
  check.evidence = source;
  if (Has(kSlowClocks, source)) {
    check.findings = {
        {Severity::kWarning, "clock_is_slow",
         absl::StrCat("the clock source is ", source,
                      ", and each look at the clock a call of the kernel: "
                      "expected tsc; see `dmesg` for why the kernel gave it up "
                      "(clocksource=tsc tsc=reliable at boot, where the "
                      "hypervisor's is steady)")}};
  } else if (!Has(kFastClocks, source)) {
    check.findings = {{Severity::kNote, "clock_is_not_known",
                       absl::StrCat("the clock source is ", source,
                                    ", neither known as fast nor as slow")}};
  }
  return check;
}

absl::StatusOr<Answer> DoctorAnswer(const DoctorFacts& facts) {
  const std::vector<Check> checks = {CheckDriver(facts),
                                     CheckGpus(facts),
                                     CheckServerDevices(facts),
                                     CheckVisibleDevices(facts),
                                     CheckComputeInstances(facts),
                                     CheckMps(facts),
                                     CheckUvm(facts),
                                     CheckPorts(facts),
                                     CheckOpenFiles(facts),
                                     CheckProcessors(facts),
                                     CheckMemory(facts),
                                     CheckClockSource(facts)};
  Answer answer;
  answer.command = "doctor";
  answer.sentence = Sentence(checks);
  answer.inputs = {{"servers", Sources(facts)},
                   {"limits",
                    "those of this process: ask where the servers "
                    "are to run"}};
  answer.table.headings = {"check", "found", "verdict"};
  bool has_looked = false;
  for (const Check& check : checks) {
    has_looked = has_looked || check.outcome == Check::Outcome::kLookedAt;
    answer.table.rows.push_back({check.name, check.evidence, Verdict(check)});
    answer.findings.insert(answer.findings.end(), check.findings.begin(),
                           check.findings.end());
  }
  if (!has_looked) {
    return absl::FailedPreconditionError(absl::StrCat(
        "nothing could be looked at: ",
        absl::StrJoin(answer.findings, "; ",
                      [](std::string* out, const Finding& finding) {
                        out->append(finding.text);
                      })));
  }
  return answer;
}

}  // namespace ferry::ctl

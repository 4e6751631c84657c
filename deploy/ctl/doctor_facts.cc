// Implements FactGatherer. Formats: proc(5), sysfs, systemd.exec(5) for env
// files.
#include "deploy/ctl/doctor_facts.h"

#include <arpa/inet.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/control_group.h"
#include "base/processor_count.h"
#include "base/readable_file.h"

namespace ferry::ctl {
namespace {

namespace fs = std::filesystem;

constexpr char kEnvEnding[] = ".env";
constexpr absl::string_view kListening = "0A";  // a state of /proc/net/tcp

absl::Status CannotRead(const std::string& path, const std::error_code& error) {
  return absl::NotFoundError(
      absl::StrCat("cannot read ", path, ": ", error.message()));
}

// Returns NAME=VALUE of each part; what is none is left out.
NamedValues ParseAssignments(const std::vector<std::string>& parts) {
  NamedValues values;
  for (const std::string& part : parts) {
    const std::pair<std::string, std::string> pair =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    if (absl::StrContains(part, '=')) {
      values[pair.first] = pair.second;
    }
  }
  return values;
}

std::string WithoutQuotes(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  const bool is_quoted = text.size() > 1 && text.front() == text.back() &&
                         (text.front() == '"' || text.front() == '\'');
  return std::string(is_quoted ? text.substr(1, text.size() - 2) : text);
}

NamedValues ParseEnvFile(const std::string& text) {
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const absl::string_view stripped = absl::StripAsciiWhitespace(line);
    if (!stripped.empty() && stripped[0] != '#' && stripped[0] != ';') {
      lines.emplace_back(stripped);
    }
  }
  NamedValues values = ParseAssignments(lines);
  for (auto& [name, value] : values) {
    value = WithoutQuotes(value);
  }
  return values;
}

// Splits as systemd splits $FERRY_ARGUMENTS: at white space that is not quoted;
// quotes are removed, and a backslash has the next character stand for itself.
std::vector<std::string> SplitWords(absl::string_view text) {
  std::vector<std::string> words;
  char quote = '\0';
  bool is_in_word = false;
  bool is_escaped = false;
  for (const char c : text) {
    const bool is_quote = c == '"' || c == '\'';
    if (quote == '\0' && !is_escaped &&
        absl::ascii_isspace(static_cast<unsigned char>(c))) {
      is_in_word = false;
      continue;
    }
    if (!is_in_word) {
      is_in_word = true;
      words.emplace_back();
    }
    if (std::exchange(is_escaped, false)) {
      words.back().push_back(c);
    } else if (c == '\\') {
      is_escaped = true;
    } else if (quote == '\0' && is_quote) {
      quote = c;
    } else if (c == quote) {
      quote = '\0';
    } else {
      words.back().push_back(c);
    }
  }
  return words;
}

// Returns the flags that ferry@.service makes of an env file.
absl::StatusOr<NamedValues> FlagsOfUnit(const NamedValues& environment) {
  const auto value = [&environment](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? "" : found->second;
  };
  auto flags = ParseServerFlags(SplitWords(value("FERRY_ARGUMENTS")));
  if (flags.ok()) {  // the last one counts, and these are the first
    flags->emplace("--device", value("FERRY_DEVICE"));
    flags->emplace("--grpc-address", value("FERRY_GRPC_ADDRESS"));
    flags->emplace("--grpc-port", value("FERRY_GRPC_PORT"));
    flags->emplace("--metrics-address", value("FERRY_METRICS_ADDRESS"));
    flags->emplace("--metrics-port", value("FERRY_METRICS_PORT"));
  }
  return flags;
}

absl::StatusOr<std::string> DriverVersion(const nvml::Library& library) {
  char text[nvml::kVersionSize] = {};
  const uint32_t size = sizeof(text);
  const auto& function = library.symbols().driver_version;
  const nvml::Code code =
      library.Call(function, nvml::Subject::kSystem, &text[0], size);
  if (code != nvml::Code::kSuccess) {
    return absl::UnavailableError(absl::StrCat(
        "expected ", function.name, " to tell the driver's version, got ",
        nvml::CodeName(code)));
  }
  return std::string(text, std::find(text, text + size, '\0'));
}

// Returns the IP address that inet_ntop() writes, of IPv4 where it is one in
// IPv6; empty where it stands for each.
std::string IpText(const in6_addr& bytes) {
  char text[INET6_ADDRSTRLEN] = {};
  if (IN6_IS_ADDR_V4MAPPED(&bytes)) {
    in_addr ipv4;
    std::memcpy(&ipv4, &bytes.s6_addr[12], sizeof(ipv4));
    inet_ntop(AF_INET, &ipv4, text, sizeof(text));
    return ipv4.s_addr == INADDR_ANY ? "" : text;
  }
  inet_ntop(AF_INET6, &bytes, text, sizeof(text));
  return IN6_IS_ADDR_UNSPECIFIED(&bytes) ? "" : text;
}

in6_addr Mapped(const in_addr& ipv4) {
  in6_addr bytes = {};
  bytes.s6_addr[10] = bytes.s6_addr[11] = 0xff;
  std::memcpy(&bytes.s6_addr[12], &ipv4, sizeof(ipv4));
  return bytes;
}

// Reads "0100007F" or four such words, as the machine has them in memory.
std::optional<in6_addr> ParseProcAddress(absl::string_view hex) {
  constexpr size_t kWord = 8;
  in6_addr bytes = {};
  uint32_t word = 0;
  for (size_t i = 0; i < hex.size(); i += kWord) {
    if (i / kWord >= 4 || !absl::SimpleHexAtoi(hex.substr(i, kWord), &word)) {
      return std::nullopt;
    }
    std::memcpy(&bytes.s6_addr[i / 2], &word, sizeof(word));
  }
  return hex.size() == kWord ? Mapped({.s_addr = word}) : bytes;
}

}  // namespace

Endpoint EndpointOf(const std::string& address, int port) {
  in_addr ipv4;
  in6_addr ipv6 = {};
  const bool is_ipv4 = inet_pton(AF_INET, address.c_str(), &ipv4) == 1;
  if (!is_ipv4 && inet_pton(AF_INET6, address.c_str(), &ipv6) != 1) {
    return {.ip = "", .port = port};
  }
  return {.ip = IpText(is_ipv4 ? Mapped(ipv4) : ipv6), .port = port};
}

absl::StatusOr<NamedValues> ParseServerFlags(
    const std::vector<std::string>& arguments) {
  NamedValues flags;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (!absl::StartsWith(argument, "--")) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected flags of ferry-server, got '", argument, "'"));
    }
    const std::pair<std::string, std::string> pair =
        absl::StrSplit(argument, absl::MaxSplits('=', 1));
    flags[pair.first] = pair.second;
    const bool has_next =
        i + 1 < arguments.size() && !absl::StartsWith(arguments[i + 1], "--");
    if (!absl::StrContains(argument, '=') && has_next) {
      flags[argument] = arguments[++i];
    }
  }
  return flags;
}

DoctorFacts FactGatherer::Gather(
    const absl::StatusOr<std::unique_ptr<nvml::Library>>& library,
    const std::optional<NamedValues>& flags,
    const std::string& env_folder) const {
  DoctorFacts facts;
  if (library.ok()) {
    facts.driver = DriverVersion(**library);
    facts.devices = nvml::ListDevices(**library);
  } else {
    facts.driver = library.status();
    facts.devices = library.status();
  }
  facts.environment = ReadEnvironment();
  if (flags.has_value()) {
    facts.servers = std::vector<PlannedServer>{
        {.source = kCommandLine,
         .environment = facts.environment.value_or(NamedValues()),
         .flags = *flags}};
  } else {
    facts.servers = ReadEnvFiles(env_folder);
  }
  facts.processes = ReadProcesses();
  facts.has_uvm = LookForUvm();
  facts.listening = ReadListening();
  facts.open_files = ReadOpenFiles();
  // Without this file it is not known which groups there are.
  if (const auto groups = Read("/proc/self/cgroup"); groups.ok()) {
    facts.processors = ProcessorQuota(root_);
    facts.memory_bytes = MemoryQuota(root_);
  } else {
    facts.processors = groups.status();
    facts.memory_bytes = groups.status();
  }
  facts.clock_source =
      Read("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  if (facts.clock_source.ok()) {
    absl::StripAsciiWhitespace(&*facts.clock_source);
  }
  return facts;
}

absl::StatusOr<std::string> FactGatherer::Read(const std::string& path) const {
  auto file = OpenToRead(root_ + path);
  if (!file.ok()) {
    return file.status();
  }
  std::string text(std::istreambuf_iterator<char>(*file), {});
  if (file->bad()) {
    return absl::NotFoundError(absl::StrCat("cannot read ", root_, path));
  }
  return text;
}

absl::StatusOr<NamedValues> FactGatherer::ReadEnvironment() const {
  const auto text = Read("/proc/self/environ");
  if (!text.ok()) {
    return text.status();
  }
  return ParseAssignments(absl::StrSplit(*text, '\0'));
}

absl::StatusOr<std::vector<PlannedServer>> FactGatherer::ReadEnvFiles(
    const std::string& folder) const {
  std::vector<PlannedServer> servers;
  std::error_code error;
  fs::directory_iterator file(root_ + folder, error);
  if (error == std::errc::no_such_file_or_directory) {
    return servers;
  }
  std::set<std::string> names;
  for (; !error && file != fs::directory_iterator(); file.increment(error)) {
    if (file->path().extension() == kEnvEnding) {
      names.insert(file->path().filename());
    }
  }
  if (error) {
    return CannotRead(root_ + folder, error);
  }
  for (const std::string& name : names) {
    const std::string path = absl::StrCat(folder, "/", name);
    const auto text = Read(path);
    if (!text.ok()) {
      return text.status();
    }
    PlannedServer server = {.source = path};
    server.environment = ParseEnvFile(*text);
    auto flags = FlagsOfUnit(server.environment);
    if (!flags.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": FERRY_ARGUMENTS: ", flags.status().message()));
    }
    server.flags = *std::move(flags);
    servers.push_back(std::move(server));
  }
  return servers;
}

absl::StatusOr<std::vector<Process>> FactGatherer::ReadProcesses() const {
  // With hidepid other users' processes are not in /proc, and this is not.
  if (const absl::Status first = Read("/proc/1/cmdline").status();
      !first.ok()) {
    return first;
  }
  std::vector<Process> processes;
  std::error_code error;
  for (fs::directory_iterator folder(root_ + "/proc", error);
       !error && folder != fs::directory_iterator(); folder.increment(error)) {
    const std::string name = folder->path().filename();
    Process process;
    if (!absl::SimpleAtoi(name, &process.id)) {
      continue;
    }
    const auto text = Read(absl::StrCat("/proc/", name, "/cmdline"));
    if (!text.ok() || text->empty()) {
      continue;  // it has ended, or is a thread of the kernel
    }
    std::vector<std::string> words = absl::StrSplit(*text, '\0');
    process.program = fs::path(words[0]).filename();
    words.erase(words.begin());
    if (!words.empty() && words.back().empty()) {  // behind the last zero
      words.pop_back();
    }
    // Other programs have what belongs to no flag.
    process.flags = ParseServerFlags(words).value_or(NamedValues());
    processes.push_back(std::move(process));
  }
  if (error) {
    return CannotRead(root_ + "/proc", error);
  }
  return processes;
}

absl::StatusOr<bool> FactGatherer::LookForUvm() const {
  const std::string path = root_ + "/dev/nvidia-uvm";
  struct stat status;
  if (stat(path.c_str(), &status) == 0) {
    return true;
  }
  if (errno == ENOENT) {
    return false;
  }
  return CannotRead(path, std::error_code(errno, std::generic_category()));
}

absl::StatusOr<std::set<Endpoint>> FactGatherer::ReadListening() const {
  std::set<Endpoint> endpoints;
  const auto ipv4 = Read("/proc/net/tcp");
  if (!ipv4.ok()) {
    return ipv4.status();
  }
  std::error_code error;
  std::string text = *ipv4;
  if (fs::exists(root_ + "/proc/net/tcp6", error)) {
    const auto ipv6 = Read("/proc/net/tcp6");
    if (!ipv6.ok()) {
      return ipv6.status();
    }
    text += *ipv6;
  }
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    // "0: 0100007F:1FA5 00000000:0000 0A ..."
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.size() < 4 || words[3] != kListening) {
      continue;
    }
    const std::pair<absl::string_view, absl::string_view> address =
        absl::StrSplit(words[1], absl::MaxSplits(':', 1));
    const auto ip = ParseProcAddress(address.first);
    int port = 0;
    if (ip.has_value() && absl::SimpleHexAtoi(address.second, &port)) {
      endpoints.insert({.ip = IpText(*ip), .port = port});
    }
  }
  return endpoints;
}

absl::StatusOr<int64_t> FactGatherer::ReadOpenFiles() const {
  const auto text = Read("/proc/self/limits");
  if (!text.ok()) {
    return text.status();
  }
  constexpr absl::string_view kName = "Max open files";
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    if (!absl::ConsumePrefix(&line, kName)) {
      continue;
    }
    const std::vector<absl::string_view> words =  // soft, hard, unit
        absl::StrSplit(line, ' ', absl::SkipEmpty());
    int64_t hard = 0;
    if (words.size() > 1 && words[1] == "unlimited") {
      return std::numeric_limits<int64_t>::max();
    }
    if (words.size() > 1 && absl::SimpleAtoi(words[1], &hard)) {
      return hard;
    }
  }
  return absl::NotFoundError(absl::StrCat(
      root_, "/proc/self/limits: expected a line '", kName, "', got none"));
}

}  // namespace ferry::ctl

// Implements MakePlan: gives ports and labels, fills placeholders.
#include "deploy/launch/launch_plan.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace ferry::launch {
namespace {

constexpr size_t kMaxLabel = 64;
constexpr int kMaxPort = 65535;
constexpr int64_t kMiB = 1 << 20;

// Flags of the servers that the launcher gives, and what sets them.
constexpr std::array<absl::string_view, 4> kOwnFlags = {
    "--grpc-port", "--grpc-address", "--metrics-port", "--metrics-address"};

using Values = std::map<std::string, std::string>;

bool IsLabelCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' ||
         c == '_' || c == '-';
}

bool IsPlaceholderCharacter(char c) {
  return absl::ascii_islower(static_cast<unsigned char>(c)) || c == '_';
}

absl::Status CheckLabel(const std::string& label) {
  if (label.empty() || label.size() > kMaxLabel ||
      !std::all_of(label.begin(), label.end(), IsLabelCharacter)) {
    return absl::InvalidArgumentError(
        absl::StrCat("label: expected 1 to ", kMaxLabel,
                     " letters, digits, '.', '_' or '-', got '", label, "'"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> Labels(
    const PlanOptions& options, const std::vector<Slice>& slices) {
  std::vector<std::string> labels = options.labels;
  if (labels.empty()) {
    for (size_t i = 0; i < slices.size(); ++i) {
      const Slice& slice = slices[i];
      std::string kind = slice.uuid.empty()      ? "cpu"
                         : slice.profile.empty() ? "slice"
                                                 : slice.profile;
      // "1g.18gb+me" is a profile.
      std::replace_if(
          kind.begin(), kind.end(), [](char c) { return !IsLabelCharacter(c); },
          '.');
      labels.push_back(absl::StrCat(kind, "-", i));
    }
  }
  if (labels.size() != slices.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("labels: expected one for each of ", slices.size(),
                     " servers, got ", labels.size()));
  }
  std::set<std::string> seen;
  for (const std::string& label : labels) {
    if (absl::Status status = CheckLabel(label); !status.ok()) {
      return status;
    }
    if (!seen.insert(label).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("label '", label, "' is given twice"));
    }
  }
  return labels;
}

absl::Status CheckPorts(const PlanOptions& options, size_t count) {
  const int servers = static_cast<int>(count);
  for (const int base : {options.grpc_port, options.metrics_port}) {
    if (base < 1 || base > kMaxPort - servers + 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("ports: expected ", servers, " ports from 1 to ",
                       kMaxPort, ", got the first at ", base));
    }
  }
  if (std::abs(options.grpc_port - options.metrics_port) < servers) {
    return absl::InvalidArgumentError(absl::StrCat(
        "ports: expected the first ports of gRPC and of metrics to be at least "
        "as far apart as there are servers, ",
        servers, ", got ", options.grpc_port, " and ", options.metrics_port));
  }
  return absl::OkStatus();
}

// The beginning of a UUID is one to ferry-server, in capitals or not.
bool MayBeOne(const std::string& first, const std::string& second) {
  return !first.empty() && !second.empty() &&
         (absl::StartsWithIgnoreCase(first, second) ||
          absl::StartsWithIgnoreCase(second, first));
}

absl::Status CheckSlices(const std::vector<Slice>& slices) {
  if (slices.empty()) {
    return absl::InvalidArgumentError("expected at least one slice, got none");
  }
  for (auto slice = slices.begin(); slice != slices.end(); ++slice) {
    const auto other =
        std::find_if(slices.begin(), slice, [&](const Slice& before) {
          return MayBeOne(before.uuid, slice->uuid);
        });
    if (other != slice) {
      return absl::InvalidArgumentError(
          absl::StrCat("slice '", slice->uuid, "' is given twice, once as '",
                       other->uuid, "'"));
    }
  }
  return absl::OkStatus();
}

// Whether they have the flag, with or without a value.
bool HasFlag(const std::vector<std::string>& arguments,
             absl::string_view flag) {
  return std::any_of(arguments.begin(), arguments.end(),
                     [flag](absl::string_view argument) {
                       return absl::ConsumePrefix(&argument, flag) &&
                              (argument.empty() || argument.front() == '=');
                     });
}

absl::Status CheckArguments(const std::vector<std::string>& arguments) {
  if (HasFlag(arguments, "--auth-token-file") &&
      !HasFlag(arguments, "--open-health")) {
    return absl::InvalidArgumentError(
        "arguments of the servers: expected --open-health beside "
        "--auth-token-file, as ferry-launch asks for health without a token");
  }
  for (const std::string& argument : arguments) {
    // On the CPU, too: all servers would get the one device.
    if (argument == "--device" || absl::StartsWith(argument, "--device=")) {
      return absl::InvalidArgumentError(absl::StrCat(
          "argument '", argument,
          "' of the servers: each gets the --device of its slice; give "
          "--slices before the --, or --servers for the CPU"));
    }
  }
  for (const std::string& argument : arguments) {
    for (const absl::string_view flag : kOwnFlags) {
      if (argument == flag ||
          absl::StartsWith(argument, absl::StrCat(flag, "="))) {
        return absl::InvalidArgumentError(
            absl::StrCat("argument '", argument,
                         "' of the servers: ferry-launch sets it; give ", flag,
                         " before the --"));
      }
    }
  }
  return absl::OkStatus();
}

// Puts values in the place of {names}; braces around other text stay.
absl::StatusOr<std::string> Fill(absl::string_view text, const Values& values) {
  std::string filled;
  while (!text.empty()) {
    const size_t open = text.find('{');
    absl::StrAppend(&filled, text.substr(0, open));
    if (open == absl::string_view::npos) {
      break;
    }
    text.remove_prefix(open);
    const size_t close = text.find('}');
    const absl::string_view name =
        close == absl::string_view::npos ? "" : text.substr(1, close - 1);
    if (name.empty() ||
        !std::all_of(name.begin(), name.end(), IsPlaceholderCharacter)) {
      filled.push_back('{');
      text.remove_prefix(1);
      continue;
    }
    const auto value = values.find(std::string(name));
    if (value == values.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected one of {",
                       absl::StrJoin(values, "}, {",
                                     [](std::string* out, const auto& pair) {
                                       out->append(pair.first);
                                     }),
                       "}, got {", name, "}"));
    }
    filled.append(value->second);
    text.remove_prefix(close + 1);
  }
  return filled;
}

Values PlaceholdersOf(const ServerPlan& plan, size_t index) {
  return {{"grpc_port", absl::StrCat(plan.grpc_port)},
          {"index", absl::StrCat(index)},
          {"label", plan.label},
          {"memory_mib", absl::StrCat(plan.slice.memory_bytes / kMiB)},
          {"metrics_port", absl::StrCat(plan.metrics_port)},
          {"numa_node", absl::StrCat(plan.slice.numa_node)},
          {"profile", plan.slice.profile},
          {"uuid", plan.slice.uuid}};
}

// Fills in the paths of UNIX sockets; each server has one of its own.
absl::Status FillSockets(std::vector<ServerPlan>& plans) {
  std::set<std::string> seen;
  for (size_t i = 0; i < plans.size(); ++i) {
    std::string& address = plans[i].grpc_address;
    if (!absl::StartsWith(address, "unix:")) {
      continue;
    }
    auto filled = Fill(address, PlaceholdersOf(plans[i], i));
    if (!filled.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--grpc-address: ", filled.status().message()));
    }
    address = *std::move(filled);
    if (!seen.insert(address).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--grpc-address: expected a socket of its own for each server, as "
          "unix:/run/ferry/{label}.sock, got '",
          address, "' twice"));
    }
  }
  return absl::OkStatus();
}

std::string Quoted(const std::string& word) {
  const auto is_plain = [](char c) {
    return IsLabelCharacter(c) || absl::StrContains("/=:,@%+", c);
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) {
    return word;
  }
  std::string quoted = "'";
  for (const char c : word) {
    quoted.append(c == '\'' ? "'\\''" : std::string(1, c));
  }
  return quoted + "'";
}

}  // namespace

absl::StatusOr<std::vector<ServerPlan>> MakePlan(
    const PlanOptions& options, const std::vector<Slice>& slices) {
  for (const absl::Status& status :
       {CheckSlices(slices), CheckPorts(options, slices.size()),
        CheckArguments(options.server_arguments)}) {
    if (!status.ok()) {
      return status;
    }
  }
  const auto labels = Labels(options, slices);
  if (!labels.ok()) {
    return labels.status();
  }
  std::vector<ServerPlan> plans(slices.size());
  for (size_t i = 0; i < slices.size(); ++i) {
    const int offset = static_cast<int>(i);
    ServerPlan& plan = plans[i];
    plan.label = (*labels)[i];
    plan.slice = slices[i];
    plan.grpc_address = options.grpc_address;
    plan.grpc_port = options.grpc_port + offset;
    plan.metrics_address = options.metrics_address;
    plan.metrics_port = options.metrics_port + offset;
    plan.has_tls = HasFlag(options.server_arguments, "--tls-cert");
  }
  if (absl::Status status = FillSockets(plans); !status.ok()) {
    return status;
  }
  for (size_t i = 0; i < plans.size(); ++i) {
    ServerPlan& plan = plans[i];
    plan.command = {options.server,
                    absl::StrCat("--grpc-address=", plan.grpc_address),
                    absl::StrCat("--grpc-port=", plan.grpc_port),
                    absl::StrCat("--metrics-address=", plan.metrics_address),
                    absl::StrCat("--metrics-port=", plan.metrics_port)};
    if (!plan.slice.uuid.empty()) {
      plan.command.push_back(absl::StrCat("--device=", plan.slice.uuid));
    }
    const Values values = PlaceholdersOf(plan, i);
    for (const std::string& argument : options.server_arguments) {
      auto filled = Fill(argument, values);
      if (!filled.ok()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "argument of the servers: ", filled.status().message()));
      }
      plan.command.push_back(*std::move(filled));
    }
    if (!plan.slice.uuid.empty()) {
      plan.environment.push_back(
          absl::StrCat("CUDA_VISIBLE_DEVICES=", plan.slice.uuid));
    }
  }
  return plans;
}

std::string ToShellLine(const ServerPlan& plan) {
  std::vector<std::string> words;
  for (const std::string& variable : plan.environment) {
    const size_t value = variable.find('=') + 1;
    words.push_back(absl::StrCat(variable.substr(0, value),
                                 Quoted(variable.substr(value))));
  }
  for (const std::string& word : plan.command) {
    words.push_back(Quoted(word));
  }
  return absl::StrJoin(words, " ");
}

}  // namespace ferry::launch

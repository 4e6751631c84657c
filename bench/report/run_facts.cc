// Implements FactsToHtml(): a list of facts, a name and a value each.
#include "bench/report/run_facts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/report/config_hash.h"
#include "bench/report/html_table.h"
#include "bench/report/utilization.h"

namespace ferry::bench {
namespace {

constexpr size_t kHashDigits = 16;

std::string OrDash(const std::string& text) {
  return text.empty() ? "-" : text;
}

// Returns as much of a hash as tells two apart.
std::string Shortened(const std::string& hash) {
  return OrDash(hash.substr(0, kHashDigits));
}

// Returns a field of the server's device; "-" where none is told.
std::string DeviceText(const RunResult& run,
                       std::string DeviceIdentity::*text) {
  const auto& facts = run.environment.device;
  return facts.has_value() ? OrDash(facts->device.*text) : "-";
}

std::string DeviceNumber(const RunResult& run,
                         std::optional<double> DeviceFacts::*number) {
  const auto& facts = run.environment.device;
  return facts.has_value() && ((*facts).*number).has_value()
             ? absl::StrFormat("%.0f", *((*facts).*number))
             : "-";
}

struct Fact {
  const char* name;
  std::string (*value)(const RunResult& run);
};

constexpr Fact kFacts[] = {
    {"model", [](const RunResult& run) { return run.model; }},
    {"platform",
     [](const RunResult& run) {
       return absl::StrCat(run.platform,
                           run.is_simulated ? " (simulated)" : "");
     }},
    {"max batch",
     [](const RunResult& run) {
       return run.has_config ? absl::StrCat(run.max_batch_size) : "-";
     }},
    {"runtime options",
     [](const RunResult& run) {
       return run.runtime_options.has_value() ? Describe(*run.runtime_options)
                                              : "-";
     }},
    {"server",
     [](const RunResult& run) {
       return absl::StrCat(run.server_name, " ", run.server_version, " at ",
                           run.address);
     }},
    {"client",
     [](const RunResult& run) {
       const Environment& of = run.environment;
       return absl::StrCat(
           "ferry-bench ", run.client_version,
           of.grpc_version.empty()
               ? ""
               : absl::StrCat(", gRPC ", of.grpc_version, ", ", of.compiler));
     }},
    {"client build",
     [](const RunResult& run) { return OrDash(run.environment.build); }},
    {"options SHA-256",
     [](const RunResult& run) {
       return Shortened(HashOfFlags(run.environment.flags));
     }},
    {"model config SHA-256",
     [](const RunResult& run) {
       return Shortened(run.environment.model_config_sha256);
     }},
    {"rows/request",
     [](const RunResult& run) { return absl::StrCat(run.rows_per_request); }},
    {"bytes/request",
     [](const RunResult& run) { return absl::StrCat(run.request_bytes); }},
    {"saturation/s",
     [](const RunResult& run) {
       const auto saturation = SaturationOf(run);
       return saturation
                  ? absl::StrFormat(
                        "%.0f (%s%s)", saturation->rate, saturation->source,
                        DoubtOfSaturation(run).empty() ? "" : ", not sure")
                  : "-";
     }},
    {"goodput within ms",
     [](const RunResult& run) {
       return run.slo_ms ? absl::StrFormat("%g", *run.slo_ms) : "-";
     }},
    {"search",
     [](const RunResult& run) {
       return run.search.has_value()
                  ? absl::StrFormat("p%g <= %g ms", run.search->percentile,
                                    run.search->slo_ms)
                  : "-";
     }},
    {"warm-up s",
     [](const RunResult& run) { return absl::StrFormat("%g", run.warm_up_s); }},
    {"processor", [](const RunResult& run) { return run.cpu; }},
    {"flags", [](const RunResult& run) { return run.cpu_flags; }},
    {"cores", [](const RunResult& run) { return absl::StrCat(run.cores); }},
    {"kernel", [](const RunResult& run) { return run.kernel; }},
    {"memory GiB",
     [](const RunResult& run) {
       const auto bytes = static_cast<double>(run.environment.memory_bytes);
       return bytes == 0 ? "-" : absl::StrFormat("%.1f", bytes / (1 << 30));
     }},
    {"governor",
     [](const RunResult& run) { return OrDash(run.environment.governor); }},
    {"load average",
     [](const RunResult& run) {
       return OrDash(absl::StrJoin(run.environment.load_average, " ",
                                   [](std::string* out, double load) {
                                     absl::StrAppendFormat(out, "%.2f", load);
                                   }));
     }},
    {"device",
     [](const RunResult& run) {
       return DeviceText(run, &DeviceIdentity::name);
     }},
    {"device UUID",
     [](const RunResult& run) {
       return DeviceText(run, &DeviceIdentity::uuid);
     }},
    {"driver",
     [](const RunResult& run) {
       return DeviceText(run, &DeviceIdentity::driver_version);
     }},
    {"GPU power limit W",
     [](const RunResult& run) {
       return DeviceNumber(run, &DeviceFacts::power_limit_w);
     }},
    {"SM clock MHz",  // before the run
     [](const RunResult& run) {
       return DeviceNumber(run, &DeviceFacts::sm_clock_mhz);
     }},
    {"memory clock MHz",
     [](const RunResult& run) {
       return DeviceNumber(run, &DeviceFacts::memory_clock_mhz);
     }},
    {"instances",
     [](const RunResult& run) { return OrDash(run.environment.instances); }},
    {"extensions",
     [](const RunResult& run) {
       return OrDash(absl::StrJoin(run.environment.server_extensions, " "));
     }},
    {"date", [](const RunResult& run) { return run.date; }},
    {"command", [](const RunResult& run) { return run.command; }},
};

bool IsShared(const Fact& fact, const std::vector<RunResult>& runs) {
  return std::all_of(runs.begin(), runs.end(), [&](const RunResult& run) {
    return fact.value(run) == fact.value(runs[0]);
  });
}

void AddNew(std::vector<std::string>& values, const std::string& value) {
  if (!value.empty() &&
      std::find(values.begin(), values.end(), value) == values.end()) {
    values.push_back(value);
  }
}

}  // namespace

std::string FactsToHtml(const std::vector<RunResult>& runs) {
  if (runs.empty()) {
    return "";
  }
  std::string shared;
  ReportTable table;
  table.headings = {"run"};
  for (const RunResult& run : runs) {
    table.rows.push_back({run.label});
  }
  for (const Fact& fact : kFacts) {
    if (IsShared(fact, runs)) {
      const std::string value = fact.value(runs[0]);
      if (!value.empty() && value != "-") {
        absl::StrAppend(&shared, "<dt>", Escape(fact.name), "</dt><dd>",
                        Escape(value), "</dd>\n");
      }
      continue;
    }
    table.headings.emplace_back(fact.name);
    for (size_t i = 0; i < runs.size(); ++i) {
      table.rows[i].push_back(fact.value(runs[i]));
    }
  }
  return absl::StrCat("<dl class=\"facts\">\n", shared, "</dl>\n",
                      table.headings.size() > 1 ? TableToHtml(table) : "");
}

std::string FactsInShort(const std::vector<RunResult>& runs) {
  std::vector<std::string> models;
  std::vector<std::string> servers;
  std::vector<std::string> machines;
  std::vector<std::string> devices;
  std::vector<std::string> days;
  for (const RunResult& run : runs) {
    AddNew(models, run.model);
    AddNew(servers, absl::StrCat(run.server_name, " ", run.server_version));
    AddNew(machines, run.cores > 0
                         ? absl::StrFormat("%s, %d cores", run.cpu, run.cores)
                         : run.cpu);
    if (run.environment.device.has_value()) {
      AddNew(devices, run.environment.device->device.name);
    }
    AddNew(days, run.date.substr(0, 10));
  }
  std::vector<std::string> parts;
  for (const auto& values : {models, servers, machines, devices, days}) {
    if (!values.empty()) {
      parts.push_back(absl::StrJoin(values, ", "));
    }
  }
  return absl::StrJoin(parts, " · ");
}

}  // namespace ferry::bench

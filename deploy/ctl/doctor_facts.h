// DoctorFacts holds what `ferryctl doctor` judges; FactGatherer reads it from
// NVML, /proc, /sys, /dev and env files. It changes nothing.
//
// Thread safety: plain values; FactGatherer is thread-compatible.
// Invariants: what cannot be read is an error that says why, never a value.
#ifndef FERRY_DEPLOY_CTL_DOCTOR_FACTS_H_
#define FERRY_DEPLOY_CTL_DOCTOR_FACTS_H_

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "models/nvml/devices.h"
#include "models/nvml/library.h"

namespace ferry::ctl {

// By name: environment variables, or flags with their dashes.
using NamedValues = std::map<std::string, std::string>;

// The source of a server whose flags the command line gives.
inline constexpr char kCommandLine[] = "the flags behind --";

// What a server is, or would be, started with.
struct PlannedServer {
  std::string source;  // the path of its env file, or kCommandLine
  NamedValues environment{};
  NamedValues flags{};  // of ferry-server; "" for one without a value
};

struct Process {
  int id = 0;
  std::string program;  // without its folder
  NamedValues flags{};
};

// Where a server listens.
struct Endpoint {
  std::string ip;  // as inet_ntop() writes it; empty: each of the machine
  int port = 0;

  auto operator<=>(const Endpoint&) const = default;
};

// Reads the IP address of a flag; a name is any address, as is 0.0.0.0.
Endpoint EndpointOf(const std::string& address, int port);

struct DoctorFacts {
  // The version of NVIDIA's driver. NOT_FOUND: there is none;
  // FAILED_PRECONDITION: it does not start; else the reason.
  absl::StatusOr<std::string> driver;
  absl::StatusOr<nvml::Devices> devices;
  absl::StatusOr<std::vector<PlannedServer>> servers;  // empty: none are named
  absl::StatusOr<NamedValues> environment;             // this process's own
  absl::StatusOr<std::vector<Process>> processes;
  absl::StatusOr<bool> has_uvm;  // the device node that CUDA opens
  absl::StatusOr<std::set<Endpoint>> listening;  // by TCP
  // Limits of this process: the most files that it may ask for, the processors
  // and bytes of its control groups, with the largest number for no limit.
  absl::StatusOr<int64_t> open_files;
  absl::StatusOr<int> processors;
  absl::StatusOr<int64_t> memory_bytes;
  absl::StatusOr<std::string> clock_source;
};

// Reads "--name=value", "--name value" and "--name". INVALID_ARGUMENT for what
// belongs to no flag.
absl::StatusOr<NamedValues> ParseServerFlags(
    const std::vector<std::string>& arguments);

class FactGatherer {
 public:
  // `root`: where /proc, /sys, /dev and /etc are, "" for this machine's own.
  explicit FactGatherer(std::string root) : root_(std::move(root)) {}

  // `library`: as Library::Open() returned it. The servers are that of `flags`,
  // or those of the folder's env files below the root.
  DoctorFacts Gather(
      const absl::StatusOr<std::unique_ptr<nvml::Library>>& library,
      const std::optional<NamedValues>& flags,
      const std::string& env_folder) const;

 private:
  absl::StatusOr<std::string> Read(const std::string& path) const;
  absl::StatusOr<NamedValues> ReadEnvironment() const;
  absl::StatusOr<std::vector<PlannedServer>> ReadEnvFiles(
      const std::string& folder) const;
  absl::StatusOr<std::vector<Process>> ReadProcesses() const;
  absl::StatusOr<bool> LookForUvm() const;
  absl::StatusOr<std::set<Endpoint>> ReadListening() const;
  absl::StatusOr<int64_t> ReadOpenFiles() const;

  const std::string root_;
};

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_DOCTOR_FACTS_H_

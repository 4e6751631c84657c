// Tests each check of the doctor on facts of machines: fine, found, unknown.
#include "deploy/ctl/doctor_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace ferry::ctl {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Outcome = Check::Outcome;

constexpr char kSlice[] = "MIG-11111111-aaaa-bbbb-cccc-dddddddddddd";
constexpr char kOtherSlice[] = "MIG-22222222-aaaa-bbbb-cccc-dddddddddddd";
constexpr char kGpu[] = "GPU-aaaaaaaa-0000-1111-2222-333333333333";

absl::Status Denied() {
  return absl::NotFoundError("cannot read FILE: Permission denied");
}

nvml::MigDevice Slice(const char* uuid, uint32_t gpu_instance) {
  nvml::MigDevice slice;
  slice.uuid = uuid;
  slice.profile = "1g.18gb";
  slice.gpu_instance = gpu_instance;
  return slice;
}

nvml::Devices WithSlices() {
  nvml::Gpu gpu;
  gpu.uuid = kGpu;
  gpu.name = "NVIDIA H200";
  gpu.is_mig_on = true;
  gpu.will_mig_be_on = true;
  gpu.mig_devices = {Slice(kSlice, 7), Slice(kOtherSlice, 8)};
  nvml::Devices devices;
  devices.gpus = {gpu};
  return devices;
}

using Servers = std::vector<PlannedServer>;

PlannedServer Server(NamedValues flags) {
  return {.source = "/etc/ferry/a.env", .flags = std::move(flags)};
}

// A machine with two slices and one server, where nothing is wrong.
DoctorFacts Healthy() {
  DoctorFacts facts;
  facts.driver = "580.95.05";
  facts.devices = WithSlices();
  facts.servers = Servers{Server({{"--device", kSlice},
                                  {"--grpc-port", "8101"},
                                  {"--metrics-port", "8201"}})};
  facts.environment = NamedValues();
  facts.processes = std::vector<Process>{{.id = 1, .program = "init"}};
  facts.has_uvm = true;
  facts.listening = std::set<Endpoint>{{.ip = "", .port = 22}};
  facts.open_files = 1048576;
  facts.processors = std::numeric_limits<int>::max();
  facts.memory_bytes = std::numeric_limits<int64_t>::max();
  facts.clock_source = "tsc";
  return facts;
}

std::vector<std::string> Names(const Check& check) {
  std::vector<std::string> names;
  for (const Finding& finding : check.findings) {
    names.push_back(finding.name);
  }
  return names;
}

// Says that the check could not look, and why.
void ExpectUnknown(const Check& check, const std::string& name,
                   const std::string& reason) {
  EXPECT_EQ(check.outcome, Outcome::kUnknown) << check.name;
  ASSERT_THAT(Names(check), ElementsAre(name));
  EXPECT_EQ(check.findings[0].severity, Severity::kWarning);
  EXPECT_THAT(check.findings[0].text, HasSubstr(reason));
}

void ExpectFound(const Check& check, Severity severity, const std::string& name,
                 const std::string& text) {
  EXPECT_EQ(check.outcome, Outcome::kLookedAt) << check.name;
  ASSERT_THAT(Names(check), ElementsAre(name));
  EXPECT_EQ(check.findings[0].severity, severity);
  EXPECT_THAT(check.findings[0].text, HasSubstr(text));
}

TEST(DoctorChecksTest, DriverThatIsMissing) {
  DoctorFacts facts = Healthy();
  facts.driver = absl::NotFoundError("expected libnvidia-ml.so.1, got: none");
  ExpectFound(CheckDriver(facts), Severity::kCritical, "driver_missing",
              "expected libnvidia-ml.so.1, got: none; install NVIDIA's driver "
              "580 or newer;");
  facts.servers = Servers{Server({{"--device", "cpu"}})};
  ExpectFound(CheckDriver(facts), Severity::kNote, "driver_missing", "580");
  facts.servers = Servers();
  ExpectFound(CheckDriver(facts), Severity::kCritical, "driver_missing", "580");
}

TEST(DoctorChecksTest, DriverThatDoesNotStart) {
  DoctorFacts facts = Healthy();
  for (const auto& [code, remedy] :
       {std::pair("DRIVER_NOT_LOADED", "`modprobe nvidia`"),
        std::pair("LIB_RM_VERSION_MISMATCH", "of different versions"),
        std::pair("UNKNOWN", "see `dmesg`")}) {
    facts.driver = absl::FailedPreconditionError(code);
    ExpectFound(CheckDriver(facts), Severity::kCritical,
                "driver_does_not_start", remedy);
  }
  facts.driver = absl::FailedPreconditionError("got NO_PERMISSION");
  ExpectUnknown(CheckDriver(facts), "driver_is_unknown", "got NO_PERMISSION");
}

TEST(DoctorChecksTest, DriverThatIsTooOld) {
  DoctorFacts facts = Healthy();
  facts.driver = "580.0";
  EXPECT_THAT(CheckDriver(facts).findings, IsEmpty());
  facts.driver = "579.99.99";
  ExpectFound(CheckDriver(facts), Severity::kCritical, "driver_too_old",
              "CUDA 13 needs a driver of version 580 or newer, found "
              "579.99.99: install one, or the package cuda-compat-13-0");
  facts.driver = "what";
  ExpectUnknown(CheckDriver(facts), "driver_is_unknown", "got 'what'");
}

TEST(DoctorChecksTest, GpusThatAreLostOrDoNotTell) {
  DoctorFacts facts = Healthy();
  EXPECT_THAT(CheckGpus(facts).findings, IsEmpty());
  facts.devices->unread = {{1, nvml::Code::kGpuIsLost}};
  ExpectFound(CheckGpus(facts), Severity::kCritical, "gpu_lost",
              "GPU 1 cannot be looked at, NVML says GPU_IS_LOST: look for an "
              "Xid in `dmesg`");
  facts.devices->unread = {{1, nvml::Code::kNoPermission}};
  ExpectUnknown(CheckGpus(facts), "gpu_is_unknown",
                "GPU 1: unknown: NVML says NO_PERMISSION; ask as root");
  facts = Healthy();
  facts.devices->gpus[0].is_mig_unread = true;
  ExpectUnknown(CheckGpus(facts), "mig_mode_is_unknown", "whether MIG is on");
  facts = Healthy();
  facts.devices->gpus[0].mig_devices_unread = nvml::Code::kNoPermission;
  ExpectUnknown(CheckGpus(facts), "gpu_is_unknown", "a MIG device of GPU-");
  facts = Healthy();
  facts.devices->gpus[0].mig_devices.clear();
  ExpectFound(CheckGpus(facts), Severity::kWarning, "mig_without_slices",
              "make slices (`ferryctl mig-plan`), or turn MIG off");
}

TEST(DoctorChecksTest, DevicesThatCannotBeCounted) {
  DoctorFacts facts = Healthy();
  facts.devices = absl::UnavailableError("got GPU_IS_LOST");
  ExpectFound(CheckGpus(facts), Severity::kCritical, "driver_lost",
              "nvidia-smi --gpu-reset");
  facts.devices = absl::UnavailableError("got NO_PERMISSION");
  ExpectUnknown(CheckGpus(facts), "gpus_are_unknown", "NO_PERMISSION");
  facts.driver = absl::NotFoundError("none");
  facts.devices = absl::NotFoundError("none");
  EXPECT_EQ(CheckGpus(facts).outcome, Outcome::kNothing);
}

TEST(DoctorChecksTest, IndexWhereMigIsOn) {
  DoctorFacts facts = Healthy();
  facts.servers = Servers{Server({{"--device", "cuda:0"}})};
  const Check check = CheckServerDevices(facts);
  ExpectFound(check, Severity::kCritical, "index_with_mig",
              "/etc/ferry/a.env: --device: expected MIG-<uuid>, as MIG mode is "
              "on, got cuda:0; NVML sees: GPU 0 GPU-");
  EXPECT_THAT(check.findings[0].text,
              AllOf(HasSubstr(kOtherSlice),
                    EndsWith("name one by its UUID, as `ferryctl units` "
                             "does")));
  facts.devices->gpus[0].is_mig_on = false;
  facts.devices->gpus[0].will_mig_be_on = false;
  facts.devices->gpus[0].mig_devices.clear();
  EXPECT_THAT(CheckServerDevices(facts).findings, IsEmpty());
}

TEST(DoctorChecksTest, IndexInTheEnvironmentOfAServer) {
  DoctorFacts facts = Healthy();
  facts.servers->front().environment = {{"CUDA_VISIBLE_DEVICES", "0"}};
  ExpectFound(CheckServerDevices(facts), Severity::kCritical, "index_with_mig",
              "CUDA_VISIBLE_DEVICES: expected UUIDs");
  facts.devices->gpus[0].is_mig_on = false;
  ExpectFound(CheckServerDevices(facts), Severity::kWarning, "device_by_index",
              "name the device by its UUID");
}

TEST(DoctorChecksTest, UuidThatIsNotThere) {
  DoctorFacts facts = Healthy();
  facts.servers = Servers{Server({{"--device", "MIG-99"}})};
  ExpectFound(CheckServerDevices(facts), Severity::kCritical, "no_such_device",
              "expected a device that NVML sees, got MIG-99; NVML sees: ");
  facts.devices->unread = {{1, nvml::Code::kGpuIsLost}};
  ExpectUnknown(CheckServerDevices(facts), "device_is_unknown",
                "unknown, as not all could be looked at");
  facts.devices->unread.clear();
  facts.devices->gpus[0].mig_devices_unread = nvml::Code::kNoPermission;
  ExpectUnknown(CheckServerDevices(facts), "device_is_unknown", "got MIG-99");
  facts.devices = WithSlices();
  facts.servers = Servers{Server({{"--device", kGpu}})};
  ExpectFound(CheckServerDevices(facts), Severity::kCritical, "device_refused",
              "expected MIG-<uuid>, as MIG mode is on, got GPU-");
  facts.servers = Servers{Server({{"--device", ""}})};
  ExpectFound(CheckServerDevices(facts), Severity::kCritical, "device_refused",
              "expected cpu, only, cuda:N, GPU-<uuid> or MIG-<uuid>, got ''");
}

TEST(DoctorChecksTest, ServersOrDevicesThatAreNotKnown) {
  DoctorFacts facts = Healthy();
  EXPECT_THAT(CheckServerDevices(facts).findings, IsEmpty());
  facts.devices = absl::UnavailableError("got NO_PERMISSION");
  ExpectUnknown(CheckServerDevices(facts), "devices_are_unknown",
                "NO_PERMISSION");
  facts.servers = Servers{Server({})};  // the flag's default is cpu
  EXPECT_THAT(CheckServerDevices(facts).findings, IsEmpty());
  facts.servers = Servers();
  EXPECT_EQ(CheckServerDevices(facts).outcome, Outcome::kNothing);
  facts.servers = Denied();
  ExpectUnknown(CheckServerDevices(facts), "servers_are_unknown",
                "Permission denied");
}

TEST(DoctorChecksTest, VisibleDevicesOfTheShell) {
  DoctorFacts facts = Healthy();
  EXPECT_EQ(CheckVisibleDevices(facts).outcome, Outcome::kNothing);
  facts.environment = NamedValues{{"CUDA_VISIBLE_DEVICES", kSlice}};
  EXPECT_THAT(CheckVisibleDevices(facts).findings, IsEmpty());
  facts.environment = NamedValues{{"CUDA_VISIBLE_DEVICES", "0"}};
  ExpectFound(CheckVisibleDevices(facts), Severity::kCritical, "index_with_mig",
              "expected UUIDs, got '0'; NVML sees: GPU 0");
  facts.environment = NamedValues{{"CUDA_VISIBLE_DEVICES", "MIG-99"}};
  ExpectFound(CheckVisibleDevices(facts), Severity::kCritical, "no_such_device",
              "got MIG-99");
  facts.devices = absl::UnavailableError("got NO_PERMISSION");
  ExpectUnknown(CheckVisibleDevices(facts), "devices_are_unknown",
                "NO_PERMISSION");
  facts.environment = Denied();
  ExpectUnknown(CheckVisibleDevices(facts), "environment_is_unknown",
                "Permission denied");
}

TEST(DoctorChecksTest, ComputeInstancesOfOneGpuInstance) {
  DoctorFacts facts = Healthy();
  EXPECT_THAT(CheckComputeInstances(facts).findings, IsEmpty());
  facts.devices->gpus[0].mig_devices[1].gpu_instance = 7;
  ExpectFound(
      CheckComputeInstances(facts), Severity::kWarning,
      "compute_instances_share_memory",
      absl::StrCat("GPU instance 7 of ", kGpu, " has 2 compute instances, ",
                   kSlice, ", ", kOtherSlice, ": they share its memory"));
  facts.devices->gpus[0].mig_devices[1].gpu_instance.reset();
  ExpectUnknown(CheckComputeInstances(facts), "compute_instances_are_unknown",
                "does not tell its GPU instance");
  facts.devices->gpus[0].is_mig_on = false;
  facts.devices->gpus[0].mig_devices.clear();
  EXPECT_EQ(CheckComputeInstances(facts).outcome, Outcome::kNothing);
  facts.devices->unread = {{1, nvml::Code::kGpuIsLost}};
  ExpectUnknown(CheckComputeInstances(facts), "compute_instances_are_unknown",
                "not all could be looked at");
  facts.devices = absl::UnavailableError("got GPU_IS_LOST");
  ExpectUnknown(CheckComputeInstances(facts), "compute_instances_are_unknown",
                "got GPU_IS_LOST");
}

TEST(DoctorChecksTest, WithoutADriverThereIsNoDeviceToLookAt) {
  DoctorFacts facts = Healthy();
  facts.environment = NamedValues{{"CUDA_VISIBLE_DEVICES", "0"}};
  facts.driver = absl::FailedPreconditionError("got DRIVER_NOT_LOADED");
  facts.devices = facts.driver.status();
  for (const Check& check :
       {CheckGpus(facts), CheckServerDevices(facts), CheckVisibleDevices(facts),
        CheckComputeInstances(facts)}) {
    EXPECT_EQ(check.outcome, Outcome::kNothing) << check.name;
    EXPECT_EQ(check.evidence, "no driver") << check.name;
    EXPECT_THAT(check.findings, IsEmpty()) << check.name;
  }
}

TEST(DoctorChecksTest, MpsWithSeveralServers) {
  DoctorFacts facts = Healthy();
  EXPECT_EQ(CheckMps(facts).evidence, "off");
  facts.processes->push_back({.id = 7, .program = "nvidia-cuda-mps-control"});
  EXPECT_EQ(CheckMps(facts).evidence, "on, servers: 1");
  EXPECT_THAT(CheckMps(facts).findings, IsEmpty());
  facts.processes->push_back({.id = 8, .program = "ferry-server"});
  EXPECT_THAT(CheckMps(facts).findings, IsEmpty());  // the one that is named
  facts.processes->push_back({.id = 9, .program = "ferry-server"});
  ExpectFound(CheckMps(facts), Severity::kWarning, "mps_with_tenants",
              "nvidia-cuda-mps-control runs, process 7, servers are 2: a fault "
              "of one ends all");
}

TEST(DoctorChecksTest, MpsByTheEnvironment) {
  DoctorFacts facts = Healthy();
  facts.servers->front().environment = {{"CUDA_MPS_PIPE_DIRECTORY", "/x"}};
  EXPECT_THAT(CheckMps(facts).findings, IsEmpty());
  facts.servers->push_back(Server({{"--device", "cpu"}}));
  EXPECT_THAT(CheckMps(facts).findings, IsEmpty());
  facts.servers->push_back(Server({{"--device", kOtherSlice}}));
  facts.processes = Denied();
  ExpectFound(CheckMps(facts), Severity::kWarning, "mps_with_tenants",
              "CUDA_MPS_PIPE_DIRECTORY is set, servers are 2");
}

TEST(DoctorChecksTest, MpsIsUnknownWhereAPartOfItIs) {
  DoctorFacts facts = Healthy();
  facts.processes = Denied();
  ExpectUnknown(CheckMps(facts), "mps_is_unknown", "Permission denied");
  facts = Healthy();
  facts.environment = Denied();
  ExpectUnknown(CheckMps(facts), "mps_is_unknown", "Permission denied");
  facts = Healthy();
  facts.servers = Denied();
  ExpectUnknown(CheckMps(facts), "mps_is_unknown", "Permission denied");
}

TEST(DoctorChecksTest, DeviceNodeThatIsMissing) {
  DoctorFacts facts = Healthy();
  EXPECT_THAT(CheckUvm(facts).findings, IsEmpty());
  facts.has_uvm = false;
  ExpectFound(CheckUvm(facts), Severity::kCritical, "uvm_missing",
              "run `nvidia-modprobe -c 0 -u` as root");
  facts.servers = Servers{Server({})};
  ExpectFound(CheckUvm(facts), Severity::kNote, "uvm_missing", "missing");
  facts.driver = absl::NotFoundError("none");
  EXPECT_EQ(CheckUvm(facts).outcome, Outcome::kNothing);
  facts.has_uvm = Denied();
  ExpectUnknown(CheckUvm(facts), "uvm_is_unknown", "Permission denied");
}

TEST(DoctorChecksTest, PortsThatAreTaken) {
  DoctorFacts facts = Healthy();
  EXPECT_THAT(CheckPorts(facts).findings, IsEmpty());
  EXPECT_EQ(CheckPorts(facts).evidence, "8101, 8201");
  facts.listening = std::set<Endpoint>{{.ip = "", .port = 8201}};
  ExpectFound(CheckPorts(facts), Severity::kCritical, "port_in_use",
              "port 8201, --metrics-port of /etc/ferry/a.env, is in use, and "
              "by no ferry-server: `ss -ltnp 'sport = :8201'`");
  facts.processes->push_back({.id = 9,
                              .program = "ferry-server",
                              .flags = {{"--metrics-port", "8201"}}});
  ExpectFound(CheckPorts(facts), Severity::kNote, "port_is_served",
              "process 9: a second one cannot have it");
  facts.processes = Denied();
  ExpectFound(CheckPorts(facts), Severity::kWarning, "port_in_use",
              "whether by a ferry-server is unknown: cannot read FILE");
  facts.listening = Denied();
  ExpectUnknown(CheckPorts(facts), "ports_are_unknown", "Permission denied");
}

TEST(DoctorChecksTest, PortsAreThoseOfAnAddress) {
  const auto on = [](const std::string& ip) {
    return Server({{"--grpc-address", ip}, {"--metrics-address", ip}});
  };
  DoctorFacts facts = Healthy();
  facts.servers = Servers{on("10.0.0.1"), on("10.0.0.2"), on("fd00::0a")};
  facts.listening = std::set<Endpoint>{{.ip = "127.0.0.1", .port = 8001}};
  EXPECT_THAT(CheckPorts(facts).findings, IsEmpty());
  facts.servers->push_back(on("fd00::a"));
  EXPECT_THAT(CheckPorts(facts).findings, SizeIs(2)) << "gRPC and metrics";
  facts.servers =
      Servers{on("10.0.0.1"),
              Server({{"--grpc-address", "0.0.0.0"}, {"--metrics-port", "0"}})};
  facts.listening = std::set<Endpoint>();
  ExpectFound(CheckPorts(facts), Severity::kCritical, "port_given_twice",
              "port 8001 is given 2 times");
  facts.servers = Servers{on("localhost")};
  facts.listening = std::set<Endpoint>{{.ip = "127.0.0.1", .port = 8001}};
  ExpectFound(CheckPorts(facts), Severity::kCritical, "port_in_use",
              "port 8001, --grpc-port");
  facts.servers = Servers{on("10.0.0.1")};
  facts.listening = std::set<Endpoint>{{.ip = "", .port = 8002}};
  ExpectFound(CheckPorts(facts), Severity::kCritical, "port_in_use",
              "port 8002, --metrics-port");
}

TEST(DoctorChecksTest, PortsOfFlags) {
  DoctorFacts facts = Healthy();
  facts.servers = Servers{Server({})};
  EXPECT_EQ(CheckPorts(facts).evidence, "8001, 8002");
  facts.servers = Servers{Server({{"--grpc-address", "unix:/run/s"},
                                  {"--grpc-port", "8101"},
                                  {"--metrics-port", "0"},
                                  {"--admin-address", "[::1]:9000"}})};
  EXPECT_EQ(CheckPorts(facts).evidence, "9000");
  facts.servers = Servers();
  EXPECT_EQ(CheckPorts(facts).outcome, Outcome::kNothing);
  facts.servers = Servers{Server({{"--metrics-port", "8001"}})};
  ExpectFound(CheckPorts(facts), Severity::kCritical, "port_given_twice",
              "port 8001 is given 2 times, --grpc-port of /etc/ferry/a.env, "
              "--metrics-port of /etc/ferry/a.env");
}

TEST(DoctorChecksTest, OpenFilesAgainstConnections) {
  DoctorFacts facts = Healthy();
  facts.open_files = 1024;
  facts.servers = Servers{Server({{"--grpc-max-connections", "960"}})};
  EXPECT_THAT(CheckOpenFiles(facts).findings, IsEmpty());
  facts.servers = Servers{Server({{"--grpc-max-connections", "961"}})};
  ExpectFound(CheckOpenFiles(facts), Severity::kWarning,
              "open_files_below_connections",
              "--grpc-max-connections is 961, the limit of open files 1024 "
              "leaves 960 for them: raise it");
  facts.servers = Servers{Server({})};
  facts.open_files = 1023;
  ExpectFound(CheckOpenFiles(facts), Severity::kWarning, "open_files_low",
              "the limit of open files is 1023, so 959 are for connections");
  facts.open_files = Denied();
  ExpectUnknown(CheckOpenFiles(facts), "open_files_are_unknown",
                "Permission denied");
}

TEST(DoctorChecksTest, QuotaOfProcessorsAgainstThreads) {
  DoctorFacts facts = Healthy();
  EXPECT_EQ(CheckProcessors(facts).evidence, "no quota");
  for (const char* const flag :
       {"--threads", "--device-instances", "--grpc-infer-thread-count"}) {
    facts.processors = 4;
    facts.servers = Servers{Server({{flag, "4"}})};
    EXPECT_THAT(CheckProcessors(facts).findings, IsEmpty());
    facts.processors = 3;
    ExpectFound(CheckProcessors(facts), Severity::kWarning,
                "threads_above_quota",
                absl::StrCat(flag, " is 4, the control group's quota 3"));
  }
  facts.processors = Denied();
  ExpectUnknown(CheckProcessors(facts), "processors_are_unknown",
                "Permission denied");
}

TEST(DoctorChecksTest, LimitOfMemory) {
  constexpr int64_t kGiB = int64_t{1} << 30;
  DoctorFacts facts = Healthy();
  EXPECT_EQ(CheckMemory(facts).evidence, "no limit");
  facts.memory_bytes = kGiB;
  ExpectFound(CheckMemory(facts), Severity::kNote, "memory_is_limited",
              "the control group allows 1024 MiB");
  facts.servers =
      Servers{Server({{"--grpc-memory-bytes", absl::StrCat(kGiB)}})};
  const Check check = CheckMemory(facts);
  EXPECT_THAT(Names(check),
              ElementsAre("memory_is_limited", "requests_above_memory"));
  EXPECT_EQ(check.findings[1].severity, Severity::kCritical);
  facts.servers =
      Servers{Server({{"--grpc-memory-bytes", absl::StrCat(kGiB - 1)}})};
  EXPECT_THAT(Names(CheckMemory(facts)), ElementsAre("memory_is_limited"));
  facts.memory_bytes = Denied();
  ExpectUnknown(CheckMemory(facts), "memory_is_unknown", "Permission denied");
}

TEST(DoctorChecksTest, LimitsWithoutServersAreUnknown) {
  DoctorFacts facts = Healthy();
  facts.servers = Denied();
  for (const Check& check : {CheckPorts(facts), CheckOpenFiles(facts),
                             CheckProcessors(facts), CheckMemory(facts)}) {
    ExpectUnknown(check, "servers_are_unknown", "Permission denied");
  }
}

TEST(DoctorChecksTest, ClockSources) {
  DoctorFacts facts = Healthy();
  for (const char* const fast :
       {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page",
        "arch_sys_counter"}) {
    facts.clock_source = fast;
    EXPECT_THAT(CheckClockSource(facts).findings, IsEmpty()) << fast;
  }
  for (const char* const slow :
       {"hpet", "acpi_pm", "jiffies", "refined-jiffies"}) {
    facts.clock_source = slow;
    ExpectFound(CheckClockSource(facts), Severity::kWarning, "clock_is_slow",
                absl::StrCat("the clock source is ", slow));
  }
  facts.clock_source = "xen";
  ExpectFound(CheckClockSource(facts), Severity::kNote, "clock_is_not_known",
              "xen");
  facts.clock_source = Denied();
  ExpectUnknown(CheckClockSource(facts), "clock_source_is_unknown",
                "Permission denied");
}

TEST(DoctorAnswerTest, NothingIsWrongWithAHealthyMachine) {
  const auto answer = DoctorAnswer(Healthy());
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->sentence, "Checks: 12, fine 11, nothing to look at 1.");
  EXPECT_THAT(answer->findings, IsEmpty());
  EXPECT_EQ(answer->inputs[0].second, "/etc/ferry/a.env");
}

TEST(DoctorAnswerTest, WhatIsUnknownIsNotFine) {
  DoctorFacts facts = Healthy();
  facts.clock_source = Denied();
  facts.has_uvm = false;
  facts.processors = 2;
  facts.open_files = 100;
  const auto answer = DoctorAnswer(facts);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->sentence,
            "Checks: 12, fine 8, warning 1, critical 1, unknown 1, nothing to "
            "look at 1.");
  EXPECT_EQ(answer->gravest(), Severity::kCritical);
  EXPECT_THAT(answer->table.rows.back(),
              ElementsAre("clock source", "-", "unknown"));
}

TEST(DoctorAnswerTest, WhereNothingCouldBeLookedAtItCannotKnow) {
  DoctorFacts facts;
  facts.driver = absl::FailedPreconditionError("got NO_PERMISSION");
  facts.devices = facts.driver.status();
  facts.servers = Denied();
  facts.environment = Denied();
  facts.processes = Denied();
  facts.has_uvm = Denied();
  facts.listening = Denied();
  facts.open_files = Denied();
  facts.processors = Denied();
  facts.memory_bytes = Denied();
  facts.clock_source = Denied();
  const absl::Status status = DoctorAnswer(facts).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(),
              HasSubstr("nothing could be looked at: driver: unknown: got "
                        "NO_PERMISSION; "));
  facts.clock_source = "tsc";
  EXPECT_TRUE(DoctorAnswer(facts).ok());
}

}  // namespace
}  // namespace ferry::ctl

// Tests what FactGatherer reads below a root of the test's own.
#include "deploy/ctl/doctor_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/models/temp_folder.h"

namespace ferry::ctl {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr char kLimits[] =
    "Limit                     Soft Limit           Hard Limit           "
    "Units     \n"
    "Max open files            1024                 524288               "
    "files     \n";
constexpr char kTcp[] =
    "  sl  local_address rem_address   st tx_queue rx_queue\n"
    "   0: 0100007F:1FA5 00000000:0000 0A 00000000:00000000\n"
    "   1: 0100007F:1FA6 0100007F:1FA5 01 00000000:00000000\n";
constexpr char kTcp6[] =
    "  sl  local_address                         remote_address\n"
    "   0: 00000000000000000000000000000000:2009 "
    "00000000000000000000000000000000:0000 0A 00000000:00000000\n";

absl::StatusOr<std::unique_ptr<nvml::Library>> NoLibrary() {
  return absl::NotFoundError("no library");
}

DoctorFacts Gather(const TempFolder& root,
                   const std::optional<NamedValues>& flags = std::nullopt) {
  return FactGatherer(root.path()).Gather(NoLibrary(), flags, "/etc/ferry");
}

TEST(DoctorFactsTest, AnEmptyRootIsUnknownAndSaysWhy) {
  const TempFolder root;
  const DoctorFacts facts = Gather(root);
  EXPECT_EQ(facts.driver.status().message(), "no library");
  EXPECT_EQ(facts.devices.status().message(), "no library");
  EXPECT_THAT(*facts.servers, IsEmpty());
  EXPECT_FALSE(*facts.has_uvm);
  for (const absl::Status& status :
       {facts.environment.status(), facts.processes.status(),
        facts.listening.status(), facts.open_files.status(),
        facts.processors.status(), facts.memory_bytes.status(),
        facts.clock_source.status()}) {
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr("cannot read " + root.path()),
                      HasSubstr("No such file or directory")));
  }
}

TEST(DoctorFactsTest, LimitsAndClock) {
  const TempFolder root;
  root.Write("proc/self/limits", kLimits);
  root.Write("proc/self/cgroup", "0::/\n");
  root.Write("sys/devices/system/clocksource/clocksource0/current_clocksource",
             "hpet\n");
  DoctorFacts facts = Gather(root);
  EXPECT_EQ(*facts.open_files, 524288);
  EXPECT_EQ(*facts.processors, std::numeric_limits<int>::max());
  EXPECT_EQ(*facts.memory_bytes, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(*facts.clock_source, "hpet");
  root.Write("sys/fs/cgroup/cpu.max", "150000 100000\n");
  root.Write("sys/fs/cgroup/memory.max", "1073741824\n");
  root.Write("proc/self/limits", "Max open files  1024  unlimited  files\n");
  facts = Gather(root);
  EXPECT_EQ(*facts.open_files, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(*facts.processors, 2);
  EXPECT_EQ(*facts.memory_bytes, int64_t{1} << 30);
  root.Write("proc/self/limits", "Max processes  1  2  processes\n");
  EXPECT_THAT(Gather(root).open_files.status().message(),
              HasSubstr("expected a line 'Max open files', got none"));
}

TEST(DoctorFactsTest, NoLimitOfMemoryInGroupsOfVersionOne) {
  const TempFolder root;
  root.Write("proc/self/cgroup", "4:memory:/x\n");
  root.Write("sys/fs/cgroup/memory/x/memory.limit_in_bytes",
             "9223372036854771712\n");
  EXPECT_EQ(*Gather(root).memory_bytes, std::numeric_limits<int64_t>::max());
  root.Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n");
  EXPECT_EQ(*Gather(root).memory_bytes, int64_t{1} << 30);
}

TEST(DoctorFactsTest, ListeningPortsOfBothFamilies) {
  const TempFolder root;
  root.Write("proc/net/tcp", kTcp);
  EXPECT_THAT(*Gather(root).listening,
              ElementsAre(Endpoint{.ip = "127.0.0.1", .port = 8101}));
  root.Write("proc/net/tcp6", kTcp6);
  EXPECT_THAT(*Gather(root).listening,
              UnorderedElementsAre(Endpoint{.ip = "127.0.0.1", .port = 8101},
                                   Endpoint{.ip = "", .port = 8201}));
}

TEST(DoctorFactsTest, ProcessesByTheirCommandLines) {
  using std::string_literals::operator""s;
  const TempFolder root;
  root.Write("proc/1/cmdline", "/sbin/init\0splash\0"s);
  root.Write("proc/2/cmdline", "");  // a thread of the kernel
  root.Write("proc/30/cmdline",
             "/opt/ferry/bin/ferry-server\0--grpc-port=8101\0"
             "--metrics-port\0"
             "8201\0--insecure\0"s);
  root.Write("proc/meminfo", "x");
  EXPECT_THAT(
      *Gather(root).processes,
      UnorderedElementsAre(
          AllOf(Field(&Process::id, 1), Field(&Process::program, "init")),
          AllOf(Field(&Process::id, 30),
                Field(&Process::program, "ferry-server"),
                Field(&Process::flags,
                      UnorderedElementsAre(Pair("--grpc-port", "8101"),
                                           Pair("--metrics-port", "8201"),
                                           Pair("--insecure", ""))))));
}

TEST(DoctorFactsTest, ProcessesThatAreHiddenAreUnknown) {
  const TempFolder root;
  root.Write("proc/30/cmdline", "ferry-server");
  EXPECT_THAT(Gather(root).processes.status().message(),
              HasSubstr("/proc/1/cmdline: No such file"));
}

TEST(DoctorFactsTest, DeviceNodeOfUvm) {
  const TempFolder root;
  root.Write("dev/nvidia-uvm", "");
  EXPECT_TRUE(*Gather(root).has_uvm);
  const TempFolder wrong;
  wrong.Write("dev", "no folder");
  EXPECT_THAT(Gather(wrong).has_uvm.status().message(),
              HasSubstr("cannot read"));
}

TEST(DoctorFactsTest, EnvFilesAreServersAsTheUnitStartsThem) {
  const TempFolder root;
  root.Write("etc/ferry/b.env", "FERRY_DEVICE=cpu\n");
  root.Write("etc/ferry/a.env",
             "# a comment\n; another\n\nFERRY_DEVICE=MIG-1\n"
             "FERRY_GRPC_ADDRESS=127.0.0.1\nFERRY_GRPC_PORT=8101\n"
             "FERRY_METRICS_ADDRESS=10.0.0.1\n"
             "FERRY_METRICS_PORT=\"8201\"\nCUDA_VISIBLE_DEVICES='0'\n"
             "FERRY_ARGUMENTS=--threads=4  --grpc-max-connections 9 "
             "'--x=a \"b' --y=\"c  d\" --z='' --a=b\\ c --open='d e\n");
  root.Write("etc/ferry/tokens", "FERRY_DEVICE=no\n");
  const auto servers = Gather(root).servers;
  ASSERT_TRUE(servers.ok()) << servers.status();
  ASSERT_THAT(*servers, SizeIs(2));
  EXPECT_EQ((*servers)[0].source, "/etc/ferry/a.env");
  EXPECT_THAT((*servers)[0].environment,
              Contains(Pair("CUDA_VISIBLE_DEVICES", "0")));
  EXPECT_THAT(
      (*servers)[0].flags,
      UnorderedElementsAre(
          Pair("--device", "MIG-1"), Pair("--grpc-address", "127.0.0.1"),
          Pair("--grpc-port", "8101"), Pair("--metrics-address", "10.0.0.1"),
          Pair("--metrics-port", "8201"), Pair("--threads", "4"),
          Pair("--grpc-max-connections", "9"), Pair("--x", "a \"b"),
          Pair("--y", "c  d"), Pair("--z", ""), Pair("--a", "b c"),
          Pair("--open", "d e")));
  EXPECT_EQ((*servers)[1].source, "/etc/ferry/b.env");
  EXPECT_THAT((*servers)[1].flags, Contains(Pair("--device", "cpu")));
}

TEST(DoctorFactsTest, EnvFilesThatAreWrongAreNamed) {
  const TempFolder root;
  root.Write("etc/ferry/a.env", "FERRY_ARGUMENTS=yes\n");
  EXPECT_EQ(Gather(root).servers.status().message(),
            "/etc/ferry/a.env: FERRY_ARGUMENTS: expected flags of "
            "ferry-server, got 'yes'");
  const TempFolder other;
  other.Write("etc/ferry", "no folder");
  EXPECT_THAT(Gather(other).servers.status().message(),
              HasSubstr("/etc/ferry: Not a directory"));
}

TEST(DoctorFactsTest, FlagsAreAServerInThisEnvironment) {
  using std::string_literals::operator""s;
  const TempFolder root;
  root.Write("etc/ferry/a.env", "FERRY_DEVICE=MIG-1\n");
  root.Write("proc/self/environ", "CUDA_VISIBLE_DEVICES=GPU-1\0EMPTY=\0"s);
  const DoctorFacts facts = Gather(root, NamedValues{{"--device", "cuda:0"}});
  EXPECT_THAT(*facts.environment,
              UnorderedElementsAre(Pair("CUDA_VISIBLE_DEVICES", "GPU-1"),
                                   Pair("EMPTY", "")));
  ASSERT_THAT(*facts.servers, SizeIs(1));
  EXPECT_EQ(facts.servers->front().source, kCommandLine);
  EXPECT_EQ(facts.servers->front().environment, *facts.environment);
}

TEST(ParseServerFlagsTest, ValuesInEitherForm) {
  EXPECT_THAT(*ParseServerFlags({"--a=1", "--b", "2", "--c", "--d=x=y"}),
              UnorderedElementsAre(Pair("--a", "1"), Pair("--b", "2"),
                                   Pair("--c", ""), Pair("--d", "x=y")));
  EXPECT_THAT(ParseServerFlags({"--a=1", "b"}).status().message(),
              HasSubstr("expected flags of ferry-server, got 'b'"));
}

}  // namespace
}  // namespace ferry::ctl

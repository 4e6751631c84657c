// Tests that the command line is read into ServerOptions.
#include "server/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/models/signing_key.h"
#include "tests/models/temp_folder.h"

namespace ferry {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<CommandLine> Parse(std::vector<const char*> flags) {
  flags.insert(flags.begin(), "ferry-server");
  return ParseCommandLine(static_cast<int>(flags.size()), flags.data());
}

TEST(OptionsTest, DefaultsAreThoseOfTheDesign) {
  const absl::StatusOr<CommandLine> parsed = Parse({});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->action, CommandLine::Action::kServe);
  const ServerOptions& options = parsed->options;
  EXPECT_EQ(options.grpc.address, "127.0.0.1");
  EXPECT_EQ(options.grpc.port, 8001);
  EXPECT_EQ(options.grpc.infer_thread_count, DefaultInferThreads());
  EXPECT_EQ(options.grpc.max_message_bytes, 64 << 20);
  EXPECT_EQ(options.grpc.reflection, Reflection::kOff);
  EXPECT_EQ(options.grpc.compression, Compression::kNone);
  EXPECT_EQ(options.grpc.max_streams, 0);
  EXPECT_EQ(options.lifecycle.priority, Priority::kRaised);
  EXPECT_EQ(options.grpc.status_codes, StatusCodes::kFerry);
  EXPECT_EQ(options.metrics.listening, MetricsListening::kOn);
  EXPECT_EQ(options.metrics.address, "127.0.0.1");
  EXPECT_EQ(options.metrics.port, 8002);
  EXPECT_EQ(options.lifecycle.exit_timeout, Milliseconds(20'000));
  EXPECT_EQ(options.lifecycle.drain_delay, Duration(0));
  EXPECT_TRUE(options.repository.path.empty());
  EXPECT_FALSE(options.repository.overrides.max_batch_size.has_value());
}

TEST(OptionsTest, AdminAddressIsHostAndPortOrASocket) {
  const struct {
    const char* flag;
    const char* host;
    int port;
  } addresses[] = {{"--admin-address=127.0.0.1:8003", "127.0.0.1", 8003},
                   {"--admin-address=[::1]:0", "::1", 0},
                   {"--admin-address=localhost:1", "localhost", 1},
                   {"--admin-address=unix:/a:b", "unix:/a:b", 0}};
  for (const auto& [flag, host, port] : addresses) {
    const absl::StatusOr<CommandLine> parsed = Parse({flag});
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    ASSERT_TRUE(parsed->options.grpc.admin_address.has_value());
    EXPECT_EQ(parsed->options.grpc.admin_address->host, host);
    EXPECT_EQ(parsed->options.grpc.admin_address->port, port);
  }
  for (const char* wrong :
       {"--admin-address=127.0.0.1", "--admin-address=:8003",
        "--admin-address=a:b", "--admin-address=a:65536",
        "--admin-address=a:-1"}) {
    EXPECT_THAT(Parse({wrong}).status().ToString(),
                HasSubstr("--admin-address: expected HOST:PORT, [IPv6]:PORT or "
                          "unix:FILE, got '"))
        << wrong;
  }
}

TEST(OptionsTest, TrustIsOffUnlessAskedFor) {
  const absl::StatusOr<CommandLine> defaults = Parse({});
  ASSERT_TRUE(defaults.ok()) << defaults.status();
  EXPECT_FALSE(defaults->options.trust.has_tls());
  EXPECT_EQ(defaults->options.trust.token_file, "");
  EXPECT_EQ(defaults->options.trust.health, HealthAccess::kWithToken);
  EXPECT_EQ(defaults->options.trust.exposure, Exposure::kGuarded);
  EXPECT_FALSE(defaults->options.grpc.admin_address.has_value());
  const absl::StatusOr<CommandLine> told =
      Parse({"--tls-cert=c", "--tls-key=k", "--tls-client-ca=a",
             "--auth-token-file=t", "--open-health", "--insecure"});
  ASSERT_TRUE(told.ok()) << told.status();
  EXPECT_EQ(told->options.trust.tls.certificate, "c");
  EXPECT_EQ(told->options.trust.tls.key, "k");
  EXPECT_EQ(told->options.trust.tls.client_ca, "a");
  EXPECT_EQ(told->options.trust.token_file, "t");
  EXPECT_EQ(told->options.trust.health, HealthAccess::kOpen);
  EXPECT_EQ(told->options.trust.exposure, Exposure::kInsecure);
  EXPECT_THAT(DescribeOptions(told->options),
              HasSubstr(" tls=mutual auth-token-file=t open-health=on "
                        "insecure=on "));
  EXPECT_FALSE(Parse({"--tls-cert=c"}).ok());
  EXPECT_FALSE(Parse({"--tls-key=k"}).ok());
  EXPECT_FALSE(Parse({"--tls-client-ca=a"}).ok());
}

TEST(OptionsTest, SeveralModelsAreNotOneName) {
  EXPECT_THAT(Parse({"--load-model=a,b"}).status().ToString(),
              HasSubstr("--load-model: expected one model name, got 'a,b'; "
                        "give the flag once for each"));
}

TEST(OptionsTest, StartAndReadinessAreAsTritonsUnlessToldOtherwise) {
  const absl::StatusOr<CommandLine> defaults = Parse({});
  ASSERT_TRUE(defaults.ok()) << defaults.status();
  EXPECT_TRUE(defaults->options.control.exits_on_error);
  EXPECT_TRUE(defaults->options.is_readiness_strict);
  const std::vector<const char*> forms[] = {
      {"--exit-on-error=false", "--strict-readiness=false"},
      {"--exit-on-error", "false", "--strict-readiness", "0"}};
  for (const std::vector<const char*>& flags : forms) {
    const absl::StatusOr<CommandLine> told = Parse(flags);
    ASSERT_TRUE(told.ok()) << told.status();
    EXPECT_FALSE(told->options.control.exits_on_error);
    EXPECT_FALSE(told->options.is_readiness_strict);
    EXPECT_THAT(DescribeOptions(told->options),
                HasSubstr("exit-on-error=false strict-readiness=false"));
  }
  EXPECT_FALSE(Parse({"--exit-on-error=maybe"}).ok());
}

TEST(OptionsTest, EveryFlagIsRead) {
  const absl::StatusOr<CommandLine> parsed =
      Parse({"--model-repository=/models",
             "--load-model",
             "a",
             "--load-model=b",
             "--op-library=/ops/one.so",
             "--op-library",
             "two.so",
             "--grpc-port=0",
             "--grpc-address=::1",
             "--metrics-port=9000",
             "--metrics-address=::1",
             "--exit-timeout-secs=1.5",
             "--drain-delay-secs=2",
             "--max-batch-size=8",
             "--max-wait-ms=2.5",
             "--policy=window",
             "--threads=2",
             "--queue-requests=100",
             "--queue-bytes=1000",
             "--grpc-infer-thread-count=4",
             "--grpc-max-message-bytes=1024",
             "--grpc-reflection",
             "--grpc-compression=gzip",
             "--grpc-max-streams=100",
             "--no-raised-priority",
             "--triton-status-codes",
             "--log-level=debug",
             "--log-format=json",
             "--metrics-compat=triton",
             "--endpoint-load-metrics",
             "--backend-timeout-secs=7",
             "--reason-file=/dev/termination-log"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const ServerOptions& options = parsed->options;
  EXPECT_EQ(options.repository.path, "/models");
  EXPECT_THAT(options.control.load_models, ElementsAre("a", "b"));
  EXPECT_THAT(options.op_libraries, ElementsAre("/ops/one.so", "two.so"));
  EXPECT_EQ(options.grpc.port, 0);
  EXPECT_EQ(options.grpc.address, "::1");
  EXPECT_EQ(options.metrics.port, 9000);
  EXPECT_EQ(options.lifecycle.exit_timeout, Milliseconds(1500));
  EXPECT_EQ(options.lifecycle.drain_delay, Milliseconds(2000));
  EXPECT_EQ(options.lifecycle.backend_timeout, Milliseconds(7000));
  EXPECT_EQ(options.lifecycle.reason_file, "/dev/termination-log");
  const ModelOverrides& overrides = options.repository.overrides;
  EXPECT_EQ(overrides.max_batch_size, 8);
  EXPECT_EQ(overrides.max_wait, Milliseconds(2.5));
  EXPECT_EQ(overrides.policy, PolicyKind::kWindow);
  EXPECT_EQ(overrides.threads, 2);
  EXPECT_EQ(overrides.queue_requests, 100);
  EXPECT_EQ(overrides.queue_bytes, 1000);
  EXPECT_EQ(options.grpc.infer_thread_count, 4);
  EXPECT_EQ(options.grpc.max_message_bytes, 1024);
  EXPECT_EQ(options.grpc.reflection, Reflection::kOn);
  EXPECT_EQ(options.grpc.compression, Compression::kGzip);
  EXPECT_EQ(options.grpc.max_streams, 100);
  EXPECT_EQ(options.lifecycle.priority, Priority::kOfProcess);
  EXPECT_EQ(options.grpc.status_codes, StatusCodes::kTriton);
  EXPECT_EQ(options.log.level, "debug");
  EXPECT_EQ(options.log.format, LogFormat::kJson);
  EXPECT_EQ(options.metrics.names, MetricNames::kTritonsToo);
  EXPECT_EQ(options.grpc.load_trailers, LoadTrailers::kOn);
  EXPECT_THAT(
      DescribeOptions(options),
      AllOf(HasSubstr("log-format=json"), HasSubstr("metrics-compat=triton"),
            HasSubstr("endpoint-load-metrics=on")));
}

TEST(OptionsTest, ForeignFlagIsRefusedWithWhatToWrite) {
  EXPECT_THAT(Parse({"--device-lanes=4"}).status().message(),
              HasSubstr("earlier version: write --device-instances"));
  EXPECT_THAT(Parse({"--slots", "2"}).status().message(),
              HasSubstr("--slots is a flag of an earlier version: remove it"));
  EXPECT_THAT(Parse({"--no-grpc-cork"}).status().message(),
              HasSubstr("remove it"));
  EXPECT_THAT(Parse({"--log-verbose=1"}).status().message(),
              HasSubstr("a flag of tritonserver: write --log-level=debug"));
}

TEST(OptionsTest, DeviceIsReadAndItsFormChecked) {
  EXPECT_EQ(Parse({})->options.device.selector.kind,
            nvml::DeviceSelector::Kind::kCpu);
  const absl::StatusOr<CommandLine> parsed = Parse({"--device=cuda:3"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->options.device.selector.index, 3U);
  EXPECT_THAT(DescribeOptions(parsed->options), HasSubstr("device=cuda:3"));
  EXPECT_EQ(Parse({"--device=only"})->options.device.selector.kind,
            nvml::DeviceSelector::Kind::kOnly);
  EXPECT_THAT(Parse({"--device=gpu0"}).status().message(),
              HasSubstr("--device: expected cpu, only, cuda:N"));
}

TEST(OptionsTest, MemoryOfGrpcHoldsALargestMessage) {
  EXPECT_GE(Parse({})->options.grpc.memory_bytes, 2 * (int64_t{64} << 20));
  EXPECT_EQ(Parse({"--grpc-memory-bytes=67108864"})->options.grpc.memory_bytes,
            64 << 20);
  EXPECT_THAT(Parse({"--grpc-memory-bytes=67108863"}).status().message(),
              HasSubstr("expected at least --grpc-max-message-bytes, 67108864, "
                        "got 67108863"));
}

TEST(OptionsTest, LastOfARepeatedFlagWins) {
  const absl::StatusOr<CommandLine> parsed =
      Parse({"--grpc-port=1", "--grpc-port=2"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->options.grpc.port, 2);
}

TEST(OptionsTest, CheckConfigIsAnActionOfItsOwn) {
  const absl::StatusOr<CommandLine> parsed =
      Parse({"--check-config", "--load-model=a"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->action, CommandLine::Action::kCheck);
  EXPECT_THAT(parsed->options.control.load_models, ElementsAre("a"));
}

TEST(OptionsTest, OneModelWithoutARepository) {
  const absl::StatusOr<CommandLine> parsed =
      Parse({"--model=/m/net.pt", "--input=x:FP32:-1,3", "--input",
             "m:INT64:-1,3", "--output=y:FP32:-1,1"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_TRUE(parsed->options.repository.single.has_value());
  const SingleModel& single = *parsed->options.repository.single;
  EXPECT_EQ(single.name, "net");
  EXPECT_EQ(single.config.input_size(), 2);
  EXPECT_EQ(single.config.output(0).name(), "y");
  EXPECT_THAT(parsed->options.control.load_models, ElementsAre("net"));
  EXPECT_THAT(DescribeOptions(parsed->options), HasSubstr("model=/m/net.pt"));
  EXPECT_EQ(
      Parse({"--model=a", "--model-name=b"})->options.repository.single->name,
      "b");
  EXPECT_EQ(
      Parse({"--disable-auto-complete-config"})->options.repository.completion,
      ConfigCompletion::kOff);
}

TEST(OptionsTest, ManifestsMayBeRequired) {
  const absl::StatusOr<CommandLine> parsed =
      Parse({"--require-manifest", "--model-repository=m"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->options.repository.manifests.use, ManifestUse::kRequired);
  EXPECT_THAT(DescribeOptions(parsed->options),
              HasSubstr("require-manifest=on"));
}

TEST(OptionsTest, ManifestKeyRequiresManifestsAndIsRead) {
  const TempFolder folder;
  const std::string path = folder.Write("key.pem", SigningKey().PublicPem());
  const std::string flag = "--manifest-key=" + path;
  const absl::StatusOr<CommandLine> parsed =
      Parse({flag.c_str(), "--model-repository=m"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->options.repository.manifests.use, ManifestUse::kRequired);
  EXPECT_THAT(DescribeOptions(parsed->options),
              HasSubstr("require-manifest=on manifest-key=" + path));
  folder.Write("key.pem", "no key");
  for (const char* const wrong :
       {flag.c_str(), "--manifest-key=", "--manifest-key=/none"}) {
    EXPECT_THAT(
        std::string(Parse({wrong, "--model-repository=m"}).status().message()),
        HasSubstr("--manifest-key"));
  }
}

TEST(OptionsTest, ModelControlModes) {
  EXPECT_EQ(Parse({})->options.control.mode, ModelControlMode::kNone);
  EXPECT_EQ(Parse({"--model-control-mode=explicit"})->options.control.mode,
            ModelControlMode::kExplicit);
  const absl::StatusOr<CommandLine> polls =
      Parse({"--model-control-mode=poll", "--repository-poll-secs=2.5"});
  ASSERT_TRUE(polls.ok()) << polls.status();
  EXPECT_EQ(polls->options.control.mode, ModelControlMode::kPoll);
  EXPECT_EQ(polls->options.control.poll_interval, Milliseconds(2500));
  EXPECT_FALSE(Parse({"--model-control-mode=manual"}).ok());
  EXPECT_FALSE(Parse({"--repository-poll-secs=0"}).ok());
}

TEST(OptionsTest, ProbeLoadsAreOnWhereFilesComeLater) {
  EXPECT_FALSE(Parse({})->options.control.probe.has_value());
  EXPECT_TRUE(Parse({"--probe-loads=on"})->options.control.probe.has_value());
  const auto poll = Parse({"--model-control-mode=poll", "--probe-load-secs=9",
                           "--probe-load-bytes=77"});
  ASSERT_TRUE(poll.ok() && poll->options.control.probe.has_value());
  EXPECT_EQ(poll->options.control.probe->timeout, Milliseconds(9000));
  EXPECT_EQ(poll->options.control.probe->max_bytes, 77);
  const auto off =
      Parse({"--model-control-mode=explicit", "--probe-loads=off"});
  EXPECT_FALSE(off->options.control.probe.has_value());
  EXPECT_EQ(Parse({"--run-probe-load"})->action,
            CommandLine::Action::kProbeLoad);
}

TEST(OptionsTest, NoNumberIsInNoRange) {
  for (const char* flag :
       {"--repository-poll-secs", "--max-wait-ms", "--exit-timeout-secs",
        "--drain-delay-secs", "--backend-timeout-secs"}) {
    for (const char* value : {"nan", "-1", "1e9", "1s"}) {
      EXPECT_FALSE(Parse({flag, value}).ok()) << flag << value;
    }
    EXPECT_TRUE(Parse({flag, "1.5"}).ok()) << flag;
  }
}

TEST(OptionsTest, OneRepositoryIsGivenOnce) {
  EXPECT_FALSE(Parse({"--model-repository", ""}).ok());
  EXPECT_FALSE(Parse({"--model-repository=a", "--model-repository=b"}).ok());
  EXPECT_EQ(Parse({"--model-repository=a"})->options.repository.path, "a");
}

TEST(OptionsTest, EmptyValueDoesNotTakeTheNextFlag) {
  EXPECT_THAT(
      std::string(Parse({"--model-repository=", "--drain-delay-secs=1"})
                      .status()
                      .message()),
      HasSubstr("expected a value after --model-repository=, got none"));
}

TEST(OptionsTest, MetricsPortZeroTurnsMetricsOff) {
  EXPECT_EQ(Parse({"--metrics-port=0"})->options.metrics.listening,
            MetricsListening::kOff);
}

TEST(OptionsTest, HelpAndVersionArePrinted) {
  const absl::StatusOr<CommandLine> help = Parse({"--help"});
  ASSERT_TRUE(help.ok());
  EXPECT_EQ(help->action, CommandLine::Action::kPrint);
  for (const char* part :
       {"--model-repository", "--grpc-port", "Batching", "gRPC", "--policy"}) {
    EXPECT_THAT(help->text, HasSubstr(part));
  }
  const absl::StatusOr<CommandLine> version = Parse({"--version"});
  ASSERT_TRUE(version.ok());
  EXPECT_EQ(version->action, CommandLine::Action::kPrint);
  EXPECT_THAT(version->text, HasSubstr("ferry-server 0."));
}

TEST(OptionsTest, WrongFlagsAreRefusedByName) {
  const std::vector<std::vector<const char*>> cases = {
      {"--no-such-flag"},
      {"--grpc-port=70000"},
      {"--grpc-port=http"},
      {"--max-batch-size=0"},
      {"--policy=adaptiv"},
      {"--grpc-compression=snappy"},
      {"--max-wait-ms=-1"},
      {"--log-level=loud"},
      {"--grpc-infer-thread-count=0"},
      {"--grpc-max-streams=0"},
      {"--exit-timeout-secs=x"},
      {"--queue-bytes=0"},
      {"--grpc-max-message-bytes=3000000000"},
      {"--load-model"},
      {"--require-manifest"},
      {"--manifest-key=key.pem"},
      {"--model="},
      {"--model", ""},
      {"--input=x:FP32:1"},
      {"--output=x:FP32:1"},
      {"--model-name=x"},
      {"--input=x:FP32", "--model=m"},
      {"--model=m", "--load-model=m"},
      {"--model=m", "--model-repository=m"},
      {"stray"}};
  for (const auto& flags : cases) {
    const absl::StatusOr<CommandLine> parsed = Parse(flags);
    ASSERT_FALSE(parsed.ok()) << flags.front();
    const std::string flag(flags.front());
    EXPECT_THAT(std::string(parsed.status().message()),
                HasSubstr(flag.substr(0, flag.find('='))));
    EXPECT_EQ(parsed.status().message().find('\n'), std::string::npos);
  }
}

TEST(OptionsTest, DescriptionIsOneLineWithWhatIsInForce) {
  const std::string text =
      DescribeOptions(Parse({"--max-wait-ms=2", "--load-model=mlp"})->options);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  for (const char* part :
       {"model-repository=(embedded)", "load-model=mlp", "max-wait-ms=2",
        "grpc-infer-thread-count=", "exit-timeout-secs=20"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

}  // namespace
}  // namespace ferry

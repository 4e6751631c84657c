// Implements `ferry-bench soak`: runs a long mixed load that must balance to
// the last request.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/replaced_file.h"
#include "bench/client/model_client.h"
#include "bench/commands/command_report.h"
#include "bench/commands/commands.h"
#include "bench/commands/connection_flags.h"
#include "bench/commands/signal_watcher.h"
#include "bench/report/machine.h"
#include "bench/report/report_json.h"
#include "bench/report/writable_file.h"
#include "bench/soak/process_memory.h"
#include "bench/soak/soak_load.h"
#include "bench/soak/soak_requests.h"
#include "flags/value_checks.h"

namespace ferry::bench {
namespace {

// RSS is fitted after this share of the soak: minutes 2-10 of 10.
constexpr double kSettleShare = 0.2;
constexpr double kSampleEverySeconds = 5;

struct SoakFlags {
  std::string model = "mlp";
  std::string json_path;
  ConnectionFlags connection;  // read into `load`
  InputFlags inputs;
  int32_t max_rows = 8;
  int server_pid = 0;
  double max_slope_mb_per_minute = 1;
  double duration_s = 600;
  double wait_ready_s = 10;
  SoakOptions load;
};

// Samples the server's memory and says where the soak stands.
class SoakWatch {
 public:
  explicit SoakWatch(int pid) : pid_(pid) {}

  void EverySecond(Duration elapsed, const SoakAccount& account) {
    const double at_s = std::chrono::duration<double>(elapsed).count();
    if (at_s < next_sample_s_) {
      return;
    }
    next_sample_s_ = at_s + kSampleEverySeconds;
    const auto rss_mb = pid_ > 0 ? ReadRssMb(pid_) : std::nullopt;
    if (rss_mb.has_value()) {
      samples_.push_back({at_s, *rss_mb});
    }
    if (at_s >= next_line_s_) {
      next_line_s_ = at_s + 60;
      const std::string rss =
          rss_mb.has_value() ? absl::StrFormat(", rss %.1f MB", *rss_mb) : "";
      absl::FPrintF(stderr, "  %4.0f s: %d sent, %d answered%s\n", at_s,
                    account.sent, account.answered, rss);
    }
  }

  const std::vector<MemorySample>& samples() const { return samples_; }

 private:
  const int pid_;
  double next_sample_s_ = 0;
  double next_line_s_ = kSampleEverySeconds;
  std::vector<MemorySample> samples_;
};

double SettledAt(const SoakFlags& flags) {
  return flags.duration_s * kSettleShare;
}

nlohmann::ordered_json ToJson(const SoakFlags& flags,
                              const SoakAccount& account,
                              const std::vector<MemorySample>& samples,
                              std::optional<double> slope) {
  nlohmann::ordered_json rss = nlohmann::ordered_json::array();
  for (const MemorySample& sample : samples) {
    rss.push_back({sample.at_s, sample.rss_mb});
  }
  return {{"format", "ferry-bench-soak/1"},
          {"date", DateNow()},
          {"model", flags.model},
          {"duration_s", flags.duration_s},
          {"rate", flags.load.rate},
          {"burst_factor", flags.load.burst_factor},
          {"cancelled_share", flags.load.cancelled_share},
          {"deadline_share", flags.load.deadline_share},
          {"wrong_share", flags.load.wrong_share},
          {"seed", flags.load.seed},
          {"sent", account.sent},
          {"answered", account.answered},
          {"sum_by_code", account.sum_by_code()},
          {"by_code", account.by_code},
          {"answered_twice", account.answered_twice},
          {"answers_to_nothing_sent", account.never_sent},
          {"wrong_id", account.wrong_id},
          {"wrong_rows", account.wrong_rows},
          {"malformed", account.malformed},
          {"balances", account.balances()},
          {"rss_fitted_from_s", SettledAt(flags)},
          {"rss_slope_mb_per_minute", slope.has_value()
                                          ? nlohmann::ordered_json(*slope)
                                          : nlohmann::ordered_json(nullptr)},
          {"rss_mb", rss}};
}

int Report(const SoakFlags& flags, const SoakAccount& account,
           const std::vector<MemorySample>& samples) {
  std::printf("sent %llu, answered %llu, sum by code %llu, twice %llu\n",
              static_cast<unsigned long long>(account.sent),
              static_cast<unsigned long long>(account.answered),
              static_cast<unsigned long long>(account.sum_by_code()),
              static_cast<unsigned long long>(account.answered_twice));
  for (const auto& [code, count] : account.by_code) {
    std::printf("  %-20s %llu\n", code.c_str(),
                static_cast<unsigned long long>(count));
  }
  std::printf("wrong id %llu, wrong rows %llu, malformed %llu\n",
              static_cast<unsigned long long>(account.wrong_id),
              static_cast<unsigned long long>(account.wrong_rows),
              static_cast<unsigned long long>(account.malformed));
  const double from_s = SettledAt(flags);
  const auto slope = SlopeMbPerMinute(samples, from_s);
  std::printf("%s\n", DescribeMemory(samples, slope, from_s).c_str());
  if (!flags.json_path.empty()) {
    if (const auto status =
            ReplaceFile(flags.json_path,
                        ToJson(flags, account, samples, slope).dump(1) + "\n");
        !status.ok()) {
      return Fail(status);
    }
  }
  const bool memory_grows =
      slope.has_value() && *slope > flags.max_slope_mb_per_minute;
  if (!account.balances() || memory_grows) {
    std::fprintf(stderr, "ferry-bench: soak failed: %s\n",
                 account.balances() ? "resident memory grows"
                                    : "the account does not balance");
    return 1;
  }
  return 0;
}

int Soak(const SoakFlags& flags) {
  if (flags.server_pid > 0 && !ReadRssMb(flags.server_pid).has_value()) {
    return Fail(absl::NotFoundError(absl::StrCat(
        "--server-pid: expected a process of this machine, found none with ",
        flags.server_pid)));
  }
  RequestPoolOptions pool;
  pool.seed = flags.load.seed;
  if (const auto status = ReadInputs(flags.inputs, pool); !status.ok()) {
    return Fail(status);
  }
  const auto connection = ReadConnection(flags.connection);
  if (!connection.ok()) {
    return Fail(connection.status());
  }
  const ModelClient client(flags.load.address, flags.model, *connection);
  if (const auto ready =
          client.AwaitReady(Milliseconds(flags.wait_ready_s * 1e3));
      !ready.ok()) {
    return Fail(ready);
  }
  const auto description = client.Describe();
  if (!description.ok()) {
    return Fail(description.status());
  }
  auto prepared = PrepareSoak(client, *description, pool, flags.max_rows);
  if (!prepared.ok()) {
    return Fail(WithAdvice(prepared.status(),
                           ContentAdvice(description->metadata, pool)));
  }
  const ReplyChecker checker(std::move(prepared->references));
  SoakOptions options = flags.load;
  options.connection = *connection;
  options.duration = Milliseconds(flags.duration_s * 1e3);
  SoakLoad load(options, std::move(prepared->requests), checker);
  SoakWatch watch(flags.server_pid);
  SoakAccount account;
  {
    SignalWatcher watcher([&load] { load.Stop(); });
    account = load.Run(
        [&](Duration elapsed) { watch.EverySecond(elapsed, load.account()); });
  }
  return Report(flags, account, watch.samples());
}

void AddSoakFlags(CLI::App& command, SoakFlags& flags) {
  flags.load.address = "127.0.0.1:8001";
  AddModelFlags(command, flags.connection, flags.load.address, flags.model,
                flags.wait_ready_s);
  command.add_option("--duration-secs", flags.duration_s, "how long to send")
      ->check(NumberFrom(1.0, 1e6))
      ->capture_default_str();
  command.add_option("--rate", flags.load.rate, "requests/s outside bursts")
      ->check(NumberFrom(1e-3, 1e9))
      ->capture_default_str();
  command
      .add_option("--burst-factor", flags.load.burst_factor,
                  "rate of the first second of every ten, as a multiple")
      ->check(NumberFrom(1e-3, 1e9))
      ->capture_default_str();
  command
      .add_option("--max-outstanding", flags.load.max_outstanding,
                  "requests under way at most")
      ->check(IntegerFrom(1, 1 << 20))
      ->capture_default_str();
  command
      .add_option("--cancelled-share", flags.load.cancelled_share,
                  "share of requests the client cancels at a random time")
      ->check(NumberFrom(0.0, 1.0))
      ->capture_default_str();
  command
      .add_option("--deadline-share", flags.load.deadline_share,
                  "share of requests with a random gRPC deadline")
      ->check(NumberFrom(0.0, 1.0))
      ->capture_default_str();
  command
      .add_option("--wrong-share", flags.load.wrong_share,
                  "share of requests that are wrong")
      ->check(NumberFrom(0.0, 1.0))
      ->capture_default_str();
  command
      .add_option("--max-rows", flags.max_rows, "rows of a request, 1 to this")
      ->check(IntegerFrom(1, 1 << 16))
      ->capture_default_str();
  AddInputFlags(command, flags.inputs);
  command.add_option("--seed", flags.load.seed, "of everything random")
      ->capture_default_str();
  command
      .add_option("--server-pid", flags.server_pid,
                  "process of this machine whose resident memory is sampled")
      ->check(IntegerFrom(1, 1 << 22));
  command
      .add_option("--max-rss-slope", flags.max_slope_mb_per_minute,
                  "MB a minute over the last 80 %; more fails the soak")
      ->capture_default_str();
  AddResultFile(command, "--json", flags.json_path, "file for the results");
}

}  // namespace

void AddSoakCommand(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<SoakFlags>();
  CLI::App* const command = app.add_subcommand(
      "soak", "send a long mixed load with cancels, deadlines and errors");
  AddSoakFlags(*command, *flags);
  command->callback([flags, &invocation] {
    invocation.chosen = [flags] { return Soak(*flags); };
  });
}

}  // namespace ferry::bench

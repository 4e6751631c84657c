// Implements `ferryctl set`: reads and sets the runtime options of a model.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/printable_text.h"
#include "bench/client/admin_client.h"
#include "deploy/ctl/commands.h"
#include "deploy/ctl/server_answers.h"
#include "deploy/ctl/server_flags.h"
#include "flags/value_checks.h"
#include "proto/inference.grpc.pb.h"

namespace ferry::ctl {
namespace {

constexpr double kMicrosPerMilli = 1000;

struct SetFlags {
  ServerFlags server;
  std::string model;
  std::string version;  // empty: the latest
  std::optional<int32_t> max_batch_size;
  std::optional<std::string> policy;
  std::optional<double> max_wait_ms;
  std::optional<int32_t> queue_requests;
  std::optional<int32_t> queue_rows;
  std::optional<int64_t> queue_bytes;
};

// Returns what is to be set; nothing where no option is given.
std::optional<v1::RuntimeOptions> OptionsOf(const SetFlags& flags) {
  v1::RuntimeOptions options;
  if (flags.max_batch_size.has_value()) {
    options.set_max_batch_size(*flags.max_batch_size);
  }
  if (flags.policy.has_value()) {
    options.set_policy(*flags.policy);
  }
  if (flags.max_wait_ms.has_value()) {
    options.set_max_wait_microseconds(
        std::llround(*flags.max_wait_ms * kMicrosPerMilli));
  }
  if (flags.queue_requests.has_value()) {
    options.set_queue_requests(*flags.queue_requests);
  }
  if (flags.queue_rows.has_value()) {
    options.set_queue_rows(*flags.queue_rows);
  }
  if (flags.queue_bytes.has_value()) {
    options.set_queue_bytes(*flags.queue_bytes);
  }
  return options.ByteSizeLong() == 0 ? std::nullopt : std::optional(options);
}

// Returns "; it serves 'a', 'b'"; "" where it does not tell this client.
std::string ModelsThere(const SetFlags& flags,
                        const bench::ConnectionOptions& connection) {
  const auto stub = inference::GRPCInferenceService::NewStub(
      bench::MakeChannel(flags.server.addresses.front(), connection));
  grpc::ClientContext context;
  context.set_deadline(bench::DeadlineIn(flags.server.timeout()));
  bench::AddHeaders(connection, context);
  inference::RepositoryIndexRequest request;
  request.set_ready(true);
  inference::RepositoryIndexResponse response;
  if (!stub->RepositoryIndex(&context, request, &response).ok()) {
    return "";
  }
  std::set<std::string> names;
  for (const auto& model : response.models()) {
    names.insert(absl::StrCat("'", PrintableText(model.name()), "'"));
  }
  return absl::StrCat("; it serves ",
                      names.empty() ? "none" : absl::StrJoin(names, ", "));
}

absl::StatusOr<Answer> Ask(const SetFlags& flags) {
  const auto connection = ReadConnection(flags.server);
  if (!connection.ok()) {
    return connection.status();
  }
  const std::string& address = flags.server.addresses.front();
  const bench::AdminClient admin(address, *connection, flags.server.timeout());
  v1::GetRuntimeOptionsRequest get;
  get.set_model_name(flags.model);
  get.set_model_version(flags.version);
  const auto before = admin.Get(get);
  if (absl::IsNotFound(before.status())) {
    return absl::InvalidArgumentError(
        absl::StrCat(address, ": ", before.status().message(),
                     ModelsThere(flags, *connection)));
  }
  if (!before.ok()) {
    return OfCall(before.status(), flags.server);
  }
  const std::string model = absl::StrCat(
      "'", flags.model, "'",
      flags.version.empty() ? "" : absl::StrCat(" version ", flags.version));
  const auto options = OptionsOf(flags);
  if (!options.has_value()) {
    return RuntimeOptionsAnswer(address, model, *before, std::nullopt);
  }
  v1::SetRuntimeOptionsRequest set;
  set.set_model_name(flags.model);
  set.set_model_version(flags.version);
  *set.mutable_runtime_options() = *options;
  const auto after = admin.Set(set);
  if (!after.ok()) {
    return OfCall(after.status(), flags.server);
  }
  return RuntimeOptionsAnswer(address, model, *before, *after);
}

}  // namespace

void AddSetCommand(CLI::App& app, Invocation& invocation) {
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  const auto flags = std::make_shared<SetFlags>();
  CLI::App& command = *app.add_subcommand(
      "set", "show or set how a model of a running server batches and queues");
  AddCallFlags(command, flags->server);
  command.add_option("-m,--model", flags->model, "model")->required();
  command.add_option("--model-version", flags->version,
                     "its version; default: the latest");
  command
      .add_option("--max-batch-size", flags->max_batch_size,
                  "rows of a batch at most")
      ->check(IntegerFrom(1, kMost));
  command.add_option("--policy", flags->policy, "of the batcher")
      ->check(OneOf({"eager", "window", "adaptive"}));
  command
      .add_option("--max-wait-ms", flags->max_wait_ms,
                  "how long a request waits for others at most")
      ->check(NumberFrom(0.0, 1e6));
  command
      .add_option("--queue-requests", flags->queue_requests,
                  "requests that are queued at most")
      ->check(IntegerFrom(1, kMost));
  command
      .add_option("--queue-rows", flags->queue_rows,
                  "rows that are queued at most")
      ->check(IntegerFrom(1, kMost));
  command
      .add_option("--queue-bytes", flags->queue_bytes,
                  "bytes that are queued at most")
      ->check(IntegerFrom(1, std::numeric_limits<int64_t>::max()));
  command.callback([flags, &invocation] {
    invocation.ask = [flags] { return Ask(*flags); };
  });
}

}  // namespace ferry::ctl

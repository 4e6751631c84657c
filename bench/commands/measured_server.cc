// Implements MeasuredServer: awaits, describes, tries, then connects.
#include "bench/commands/measured_server.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bench/client/reply_contents.h"
#include "bench/client/request_model.h"
#include "bench/client/request_pool.h"
#include "bench/client/shared_tensors.h"
#include "bench/commands/command_report.h"
#include "bench/device/device_means.h"
#include "bench/device/metrics_device.h"
#include "bench/device/metrics_page.h"
#include "bench/device/nvml_device.h"
#include "bench/report/config_hash.h"

namespace ferry::bench {
namespace {

constexpr Duration kFirstReplyLimit = std::chrono::milliseconds(60000);
constexpr Duration kConnectLimit = std::chrono::milliseconds(5000);

using Shared = std::vector<std::unique_ptr<SharedTensors>>;

absl::StatusOr<inference::ModelInferResponse> FirstReply(
    const ModelClient& client, const grpc::ByteBuffer& request,
    const ModelDescription& description, const std::string& advice) {
  auto reply = client.Infer(request, kFirstReplyLimit);
  if (!reply.ok()) {
    return WithAdvice(reply.status(), advice);
  }
  if (absl::Status status = CheckReply(*reply, description.metadata);
      !status.ok()) {
    return status;
  }
  return reply;
}

// Makes the requests again, with their tensors in shared memory; the server has
// answered the first. `reply`: to one whose tensors are in the message.
absl::StatusOr<std::vector<grpc::ByteBuffer>> MoveToSharedMemory(
    std::unique_ptr<const ModelClient> client, const RequestModel& of,
    const inference::ModelInferResponse& reply, Shared& shared) {
  auto tensors = SharedTensors::Create(std::move(client), of, reply);
  if (!tensors.ok()) {
    return tensors.status();
  }
  std::vector<grpc::ByteBuffer> moved = (*tensors)->TakeRequests();
  shared.push_back(*std::move(tensors));
  const auto first =
      shared.back()->client().Infer(moved.front(), kFirstReplyLimit);
  return first.ok()
             ? absl::StatusOr<std::vector<grpc::ByteBuffer>>(std::move(moved))
             : first.status();
}

// The requests of a class, the first of which the server has answered.
absl::StatusOr<ClassRequests> MakeRequests(const RequestClass& one,
                                           const RunOptions& options,
                                           const ModelClient& client,
                                           const ModelDescription& model,
                                           Shared& shared) {
  RequestPoolOptions pool = options.requests;
  if (!one.model.empty()) {  // shapes and ranges are of the command's model
    pool.shapes.clear();
    pool.ranges.clear();
    pool.data.clear();
  }
  pool.rows = one.rows;
  pool.priority = one.priority;
  pool.timeout_us =
      std::chrono::duration_cast<std::chrono::microseconds>(one.timeout)
          .count();
  if (!one.data.empty()) {
    pool.data = one.data;
  }
  for (const std::string& text : one.shapes) {
    if (absl::Status status = ParseShape(text, &pool.shapes); !status.ok()) {
      return status;
    }
  }
  const auto of = ModelOfRequests(model, pool);
  if (!of.ok()) {
    return of.status();
  }
  auto requests = MakeRequestPool(of->metadata, of->config, of->options);
  if (!requests.ok()) {
    return requests.status();
  }
  const auto first = FirstReply(client, requests->front(), model,
                                ContentAdvice(of->metadata, of->options));
  if (!first.ok()) {
    return first.status();
  }
  if (options.shared_memory) {
    requests->clear();  // before as many bytes are there once more
    requests = MoveToSharedMemory(
        std::make_unique<const ModelClient>(options.address, client.model(),
                                            options.target.connection),
        *of, *first, shared);
    if (!requests.ok()) {
      return requests.status();
    }
  }
  return ClassRequests{.requests = *std::move(requests),
                       .weight = one.weight,
                       .deadline = one.deadline,
                       .cancel_share = one.cancel_share,
                       .cancel_after = one.cancel_after};
}

// `client` and `model`: of the command's model, where the class has none.
absl::StatusOr<ClassRequests> MakeClass(const RequestClass& one,
                                        const RunOptions& options,
                                        const ModelClient& client,
                                        const ModelDescription& model,
                                        Shared& shared) {
  if (one.model.empty()) {
    return MakeRequests(one, options, client, model, shared);
  }
  const ModelClient other(options.address, one.model,
                          options.target.connection);
  const auto description = other.Describe();
  if (!description.ok()) {
    return description.status();
  }
  return MakeRequests(one, options, other, *description, shared);
}

// Sets what an offline scenario leaves to the model.
absl::Status CompleteOffline(const ModelDescription& model,
                             RunOptions* options) {
  const OfflineScenario& offline = options->offline;
  if (offline.samples == 0) {
    return absl::OkStatus();
  }
  if (!model.has_config && (offline.rows == 0 || offline.outstanding == 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--scenario: expected offline:SAMPLES,ROWS,OUTSTANDING, as this server "
        "has no ModelConfig that tells max_batch_size and instances; got '",
        options->scenario, "'"));
  }
  const OfflineQuery query = PlanOffline(
      offline, model.has_config ? model.config.max_batch_size() : offline.rows,
      model.instance_count());
  options->sweep.offline = query;
  options->requests.rows = query.rows;
  options->classes.front().rows = query.rows;
  return absl::OkStatus();
}

// Returns the files and folders that contents are of, each once.
std::string DataOf(const RunOptions& options) {
  std::set<std::string> paths;
  for (const RequestClass& one : options.classes) {
    if (!one.data.empty()) {
      paths.insert(one.data);
    } else if (one.model.empty() && !options.requests.data.empty()) {
      paths.insert(options.requests.data);
    }
  }
  return absl::StrJoin(paths, ", ");
}

// Returns null where NVML is not to be asked, or by another process.
absl::StatusOr<std::unique_ptr<DeviceSource>> OpenDevice(
    const RunOptions& options) {
  if (options.nvml.empty() || options.as_process >= 0) {
    return nullptr;
  }
  auto device = NvmlDevice::Open(options.nvml);
  if (!device.ok()) {
    return absl::Status(device.status().code(),
                        absl::StrCat("--nvml: ", device.status().message()));
  }
  return *std::move(device);
}

// Returns the metrics that are asked for. Where they cannot be read it is told
// here, as during the load they are passed over.
absl::StatusOr<std::string> FirstMetrics(const std::string& address) {
  absl::StatusOr<std::string> page = FetchMetrics(address);
  if (!page.ok()) {
    return absl::Status(
        page.status().code(),
        absl::StrCat("--metrics: expected the server's metrics at http://",
                     address, "/metrics, found ", page.status().message(),
                     "; give host:port of its metrics port"));
  }
  if (SamplesOf(*page, "ferry_").empty() && SamplesOf(*page, "nv_").empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--metrics: expected metrics of Ferry (ferry_*) or of Triton (nv_*) at "
        "http://",
        address,
        "/metrics, found none of them; give host:port of its metrics port"));
  }
  return page;
}

// Returns null where the server's metrics tell of no device, or are another
// process's to ask for.
absl::StatusOr<std::unique_ptr<DeviceSource>> FindDevice(
    const RunOptions& options) {
  if (options.metrics_address.empty() || options.as_process >= 0) {
    return nullptr;
  }
  const auto page = FirstMetrics(options.metrics_address);
  if (!page.ok()) {
    return page.status();
  }
  if (!ParseDevicePage(*page).has_value()) {
    return nullptr;
  }
  return std::make_unique<MetricsDevice>(options.metrics_address);
}

}  // namespace

absl::StatusOr<std::unique_ptr<MeasuredServer>> MeasuredServer::Connect(
    RunOptions options) {
  auto device = OpenDevice(options);
  if (!device.ok()) {
    return device.status();
  }
  auto client = std::make_unique<ModelClient>(options.address, options.model,
                                              options.target.connection);
  if (const auto ready =
          client->AwaitReady(Milliseconds(options.wait_ready_s * 1e3));
      !ready.ok()) {
    return ready;
  }
  auto description = client->Describe();
  if (!description.ok()) {
    return description.status();
  }
  if (const auto status = CompleteOffline(*description, &options);
      !status.ok()) {
    return status;
  }
  Shared shared;
  std::vector<ClassRequests> classes;
  for (const RequestClass& one : options.classes) {
    auto requests = MakeClass(one, options, *client, *description, shared);
    if (!requests.ok()) {
      return requests.status();
    }
    classes.push_back(*std::move(requests));
  }
  auto found = FindDevice(options);
  if (!found.ok()) {
    return found.status();
  }
  if (*device == nullptr) {
    *device = *std::move(found);
  }
  std::unique_ptr<MeasuredServer> server(new MeasuredServer(
      options, std::move(client), *std::move(description), *std::move(device)));
  server->shared_ = std::move(shared);
  server->request_bytes_ = classes.front().requests.front().Length();
  if (!options.sends()) {
    return server;
  }
  auto target =
      GrpcTarget::Create(options.target, std::move(classes), kConnectLimit);
  if (!target.ok()) {
    return target.status();
  }
  server->target_ = *std::move(target);
  return server;
}

namespace {

// Whether requests go to several models: ModelStatistics has the times of one.
bool MixesModels(const RunOptions& options) {
  return std::any_of(options.classes.begin(), options.classes.end(),
                     [&](const RequestClass& one) {
                       return !one.model.empty() && one.model != options.model;
                     });
}

}  // namespace

MeasuredServer::MeasuredServer(const RunOptions& options,
                               std::unique_ptr<ModelClient> client,
                               ModelDescription description,
                               std::unique_ptr<DeviceSource> device)
    : options_(options),
      client_(std::move(client)),
      description_(std::move(description)),
      device_(std::move(device)),
      probe_(*client_, description_.has_statistics && !MixesModels(options),
             options.metrics_address, device_.get()) {}

RunResult MeasuredServer::Describe(const std::string& command_line) const {
  RunResult run = DescribeClient(options_, command_line);
  run.server_name = description_.server_name;
  run.server_version = description_.server_version;
  run.address = options_.address;
  run.model = description_.metadata.name();
  run.platform = description_.metadata.platform();
  run.has_config = description_.has_config;
  run.max_batch_size = description_.config.max_batch_size();
  run.is_simulated = description_.is_simulated();
  run.request_bytes = request_bytes_;
  run.environment.server_extensions = description_.server_extensions;
  run.environment.instances = description_.instances();
  const std::string config = description_.ConfigBytes();
  run.environment.model_config_sha256 = config.empty() ? "" : Sha256Of(config);
  if (device_ != nullptr) {
    if (const auto reading = device_->Read(); reading.has_value()) {
      run.environment.device = FactsOf(*reading);
    }
  }
  run.data = DataOf(options_);
  run.content_advice = ContentAdvice(description_.metadata, options_.requests);
  double weights = 0;
  double rows = 0;
  for (const RequestClass& one : options_.classes) {
    weights += one.weight;
    rows += one.weight * one.rows;
    if (options_.classes.size() > 1) {
      run.classes.push_back(one.name);
    }
  }
  run.rows_per_request = rows / weights;
  return run;
}

}  // namespace ferry::bench

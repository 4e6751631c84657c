// Implements LoadModel: makes what computes, then instances and scheduler.
#include "models/repository/model_loader.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "batcher/cpu_instance.h"
#include "batcher/device_instance.h"
#include "models/config/config_completion.h"
#include "models/config/config_parameters.h"
#include "models/config/label_file.h"
#include "models/type_failures.h"
#include "models/warm_up_lines.h"

namespace ferry {
namespace {

const char* Platform(BackendKind backend) {
  switch (backend) {
    case BackendKind::kAotInductor:
      return "torch_aoti";
    case BackendKind::kNetwork:
      return "ferry_network";
    case BackendKind::kSimulated:
      return "ferry_sim";
    case BackendKind::kEcho:
      return "ferry_echo";
    default:
      return "pytorch_libtorch";
  }
}

SchedulerOptions MakeSchedulerOptions(const ModelOptions& options,
                                      const ModelOverrides& overrides,
                                      const ComputePlace& place,
                                      const LoadReport& report) {
  SchedulerOptions result;
  result.max_batch_size = std::max(options.spec.max_batch_size, 1);
  if (options.batching == Batching::kOwnRowsOnly) {
    result.max_requests_per_batch = 1;
    result.splits_requests =
        !IsPytorch(options.backend) || report.has_independent_rows;
  }
  result.policy = options.policy;
  result.max_wait = options.max_wait;
  result.preserve_ordering = options.preserve_ordering;
  result.enough_rows = options.enough_rows;
  result.buckets = options.buckets;
  result.levels = options.levels;
  result.queue.requests =
      overrides.queue_requests.value_or(result.queue.requests);
  if (const int32_t max = options.levels[0].max_requests;
      options.levels.size() == 1 && max > 0) {
    result.queue.requests = std::min(result.queue.requests, max);
  }
  result.queue.bytes = overrides.queue_bytes.value_or(result.queue.bytes);
  result.device = place.share;
  result.weight = options.weight;
  return result;
}

using Instances = std::vector<std::unique_ptr<Instance>>;

absl::StatusOr<Instances> MakeInstances(
    std::vector<std::unique_ptr<CpuModel>> copies,
    std::unique_ptr<DeviceModel> on_device) {
  Instances instances;
  if (on_device != nullptr) {
    auto instance = DeviceInstance::Create(std::move(on_device));
    if (!instance.ok()) {
      return instance.status();
    }
    instances.push_back(*std::move(instance));
  }
  for (std::unique_ptr<CpuModel>& copy : copies) {
    auto instance = CpuInstance::Create(std::move(copy));
    if (!instance.ok()) {
      return instance.status();
    }
    instances.push_back(*std::move(instance));
  }
  return instances;
}

// What runs a model's batches, loaded: copies on the processor, or a device.
struct Loaded {
  std::vector<std::unique_ptr<CpuModel>> copies;
  std::unique_ptr<DeviceModel> on_device;

  const ModelSpec& spec() const {
    return on_device != nullptr ? on_device->spec() : copies.front()->spec();
  }
};

// Labels lie beside the version folders: all versions share them.
absl::Status ReadLabelFiles(const ModelOptions& options,
                            const std::string& version_path,
                            ServedModel& model) {
  for (const std::string& file : options.label_files) {
    absl::StatusOr<std::vector<std::string>> labels;
    if (file.empty()) {
      labels = std::vector<std::string>();
    } else {
      const std::filesystem::path folder(version_path);
      labels = ReadLabels((folder.parent_path() / file).string());
    }
    if (!labels.ok()) {
      return labels.status();
    }
    model.labels.push_back(*std::move(labels));
  }
  return absl::OkStatus();
}

absl::Status Load(const ModelOptions& options, const std::string& folder,
                  const ComputePlace& place, Loaded& loaded,
                  LoadReport& report) {
  if (place.device != nullptr && RunsOnTorch(options.backend)) {
    auto model = MakeDeviceModel(options, folder, *place.device, report);
    loaded.on_device = model.ok() ? *std::move(model) : nullptr;
    return model.status();
  }
  auto copies = MakeCopies(options, folder, report);
  if (copies.ok()) {
    loaded.copies = *std::move(copies);
  }
  return copies.status();
}

// Says in a config where its instances are.
void SetKinds(bool is_on_device, inference::ModelConfig& config) {
  for (auto& group : *config.mutable_instance_group()) {
    group.set_kind(is_on_device ? inference::ModelInstanceGroup::KIND_GPU
                                : inference::ModelInstanceGroup::KIND_CPU);
    if (!is_on_device) {
      group.clear_gpus();
    }
  }
}

// Adds what instance_group says of devices, and the process has otherwise.
std::vector<std::string> Notes(const ModelOptions& options, bool is_on_device) {
  std::vector<std::string> notes = options.notes;
  if (options.names_gpu && !is_on_device) {
    notes.emplace_back(
        "field 'instance_group' with GPUs, as this model is served on the "
        "processor (a GPU is the process's, --device)");
  } else if (options.names_gpus) {
    notes.emplace_back(
        "field 'instance_group.gpus' with several, as each process serves its "
        "own device (ferry-launch starts one for each)");
  } else if (options.names_cpu && is_on_device) {
    notes.emplace_back(
        "field 'instance_group' with KIND_CPU, as this process serves on a "
        "device (--device=cpu serves on the processor)");
  }
  return notes;
}

std::string MaxErrorText(const ModelOptions& options,
                         const LoadReport& report) {
  if (options.precision == Precision::kFp32) {
    return "0";
  }
  return report.max_error.has_value()
             ? absl::StrFormat("%.2g", *report.max_error)
             : "unknown";
}

void NotePrecision(const ModelOptions& options, ServedModel& model) {
  model.asked_precision =
      std::string(options.is_precision_chosen ? PrecisionName(options.precision)
                                              : kDefaultPrecision);
  model.serving_precision = std::string(PrecisionName(options.precision));
  model.max_error = MaxErrorText(options, model.report);
  auto& parameters = *model.config.mutable_parameters();
  parameters[std::string(kAskedPrecisionKey)].set_string_value(
      model.asked_precision);
  parameters[std::string(kServingPrecisionKey)].set_string_value(
      model.serving_precision);
  parameters[std::string(kMaxErrorKey)].set_string_value(model.max_error);
}

// How what is told of a version begins.
std::string Named(const ModelOptions& options, const VersionFolder& folder) {
  return absl::StrCat("model '", options.name, "' version ", folder.version,
                      ": ");
}

absl::StatusOr<std::unique_ptr<ServedModel>> LoadAsConfigured(
    const ModelConfig& given, const ModelOverrides& overrides,
    const VersionFolder& folder, const ComputePlace& place,
    LoadReport& report) {
  const auto named = [&](const absl::Status& status) {
    return absl::Status(
        status.code(),
        absl::StrCat(Named(given.options, folder), status.message()));
  };
  ModelConfig config = given;
  if (place.device != nullptr && RunsOnTorch(given.options.backend) &&
      config.options.buckets.empty()) {
    config.options.buckets = DeviceBuckets(given.options.spec.max_batch_size);
  }
  if (given.options.backend == BackendKind::kTorchScript &&
      given.options.precision == Precision::kBf16 &&
      !given.options.is_precision_chosen) {
    config.options.type_failures = std::make_shared<TypeFailures>();
  }
  Loaded loaded;
  report = {};
  if (absl::Status status =
          Load(config.options, folder.path, place, loaded, report);
      !status.ok()) {
    return named(status);
  }
  const bool mixes_rows = !report.mixed_output.empty();
  if (mixes_rows) {
    BatchRequestsAlone(config);
  }
  auto model = std::make_unique<ServedModel>();
  if (IsIncomplete(given.options)) {
    model->completed = CompleteConfig(
        loaded.spec(),
        mixes_rows ? Batching::kOwnRowsOnly : Batching::kAcrossRequests,
        config);
  }
  const ModelOptions& options = config.options;
  const DeviceModel* const on_device = loaded.on_device.get();
  const CpuModel* const copy =
      loaded.copies.empty() ? nullptr : loaded.copies.front().get();
  absl::StatusOr<Instances> instances =
      MakeInstances(std::move(loaded.copies), std::move(loaded.on_device));
  if (!instances.ok()) {
    return named(instances.status());
  }
  absl::StatusOr<std::unique_ptr<Scheduler>> scheduler = Scheduler::Create(
      *std::move(instances),
      MakeSchedulerOptions(options, overrides, place, report));
  if (!scheduler.ok()) {
    return named(scheduler.status());
  }
  model->name = options.name;
  model->version = folder.version;
  model->platform = Platform(options.backend);
  model->config = config.message;
  SetKinds(on_device != nullptr, model->config);
  model->notes = Notes(options, on_device != nullptr);
  model->kept = config.kept;
  model->config.set_platform(model->platform);
  if (IsPytorch(options.backend)) {
    model->config.set_backend("pytorch");
  }
  model->spec = options.spec;
  if (absl::Status status = ReadLabelFiles(options, folder.path, *model);
      !status.ok()) {
    return status;
  }
  model->warm_up_failure = on_device != nullptr ? on_device->warm_up_failure()
                                                : copy->warm_up_failure();
  model->report = report;
  model->type_failures = options.type_failures;
  if (HasPrecision(options.backend)) {
    NotePrecision(options, *model);
  }
  model->is_simulated = options.backend == BackendKind::kSimulated;
  model->default_level = options.default_level;
  model->scheduler = *std::move(scheduler);
  return model;
}

// Whether that is the failure of a script which may run in another precision:
// one that was frozen holds constants of fp32, one that casts by itself
// computes in several types.
bool IsOfPrecision(const ModelOptions& options, absl::string_view failure) {
  return options.backend == BackendKind::kTorchScript &&
         options.precision != Precision::kNative && IsOfTypes(failure);
}

std::string FailureOf(
    const absl::StatusOr<std::unique_ptr<ServedModel>>& model) {
  if (model.ok()) {
    return (*model)->warm_up_failure;
  }
  return absl::IsInternal(model.status())
             ? std::string(model.status().message())
             : "";
}

// Those to try after that one, the nearest to fp32 first.
std::vector<Precision> Others(const ModelOptions& options) {
  std::vector<Precision> others;
  if (options.precision == Precision::kBf16) {
    others.push_back(Precision::kFp32);
  }
  if (options.backend == BackendKind::kTorchScript) {
    others.push_back(Precision::kNative);
  }
  return others;
}

// What to do about a model that bf16 was asked of.
constexpr char kRemedies[] =
    ": write fp32, or a "
    "ferry.precision_tolerance that its answers may have, or a model_warmup "
    "with a row like those of clients, which is then compared instead of "
    "synthetic ones";

}  // namespace

absl::StatusOr<std::unique_ptr<ServedModel>> LoadModel(
    const ModelConfig& given, const ModelOverrides& overrides,
    const VersionFolder& folder, const ComputePlace& place) {
  LoadReport report;
  auto model = LoadAsConfigured(given, overrides, folder, place, report);
  const bool is_chosen = given.options.is_precision_chosen;
  if (!report.why_not_bf16.empty() && report.max_error.has_value() &&
      is_chosen) {
    return absl::InvalidArgumentError(
        absl::StrCat(model.status().message(),
                     "; its config asks for ferry.precision bf16", kRemedies));
  }
  const std::string why_not =
      report.why_not_bf16.empty() ? FailureOf(model) : report.why_not_bf16;
  if (report.why_not_bf16.empty() && !IsOfPrecision(given.options, why_not)) {
    return model;
  }
  if (is_chosen && model.ok()) {
    return model;  // it has never run, and may with what clients send
  }
  const absl::Status first = model.status();
  const bool may_serve = model.ok();  // what a client sends, if no other does
  model = absl::UnknownError("");     // its memory is the next one's
  absl::Status stands = first;        // after all were tried
  for (const Precision other : Others(given.options)) {
    ModelConfig config = given;
    FallBackTo(other, config);
    auto in_other = LoadAsConfigured(config, overrides, folder, place, report);
    const std::string failure = FailureOf(in_other);
    if (in_other.ok() && !IsOfPrecision(config.options, failure)) {
      if (is_chosen) {
        return absl::InternalError(
            WithNote(first.message(),
                     absl::StrCat("; its config asks for ferry.precision ",
                                  PrecisionName(given.options.precision),
                                  ", it runs in ", PrecisionName(other))));
      }
      (*in_other)->report.why_not_bf16 = why_not;
      return in_other;
    }
    if (!in_other.ok()) {
      stands = in_other.status();
      if (!IsOfPrecision(config.options, failure)) {
        break;  // no precision mends it
      }
    }
  }
  if (may_serve) {
    report = LoadReport();
    return LoadAsConfigured(given, overrides, folder, place, report);
  }
  const std::string named = Named(given.options, folder);
  const absl::string_view why =
      WithoutWarmUpLines(absl::StripPrefix(why_not, named));
  return WithoutWarmUpLines(absl::StripPrefix(stands.message(), named)) == why
             ? stands
             : absl::Status(
                   stands.code(),
                   WithNote(stands.message(),
                            absl::StrCat("; in ",
                                         PrecisionName(given.options.precision),
                                         ": ", why)));
}

}  // namespace ferry

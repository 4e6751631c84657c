// Implements ReadConfigMessage: turns the message into checked options.
#include "models/config/config_reader.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "models/config/config_levels.h"
#include "models/config/config_parameters.h"
#include "models/config/config_strings.h"
#include "models/config/config_tensors.h"
#include "models/config/config_warm_up.h"
#include "models/config/model_config.h"
#include "models/config/not_served.h"

namespace ferry {
namespace {

constexpr int kMaxInstances = 64;
constexpr uint64_t kMaxQueueDelayMicroseconds = 60'000'000;

constexpr char kPackageEnding[] = ".pt2";
constexpr char kTritonsLibrary[] = "libtriton_pytorch.so";

std::optional<BackendKind> FindBackend(const std::string& name) {
  if (name == "pytorch" || name == "pytorch_libtorch") {
    return BackendKind::kTorchScript;
  }
  if (name == "torch_aoti") {
    return BackendKind::kAotInductor;
  }
  if (name == "ferry_network") {
    return BackendKind::kNetwork;
  }
  if (name == "ferry_sim") {
    return BackendKind::kSimulated;
  }
  if (name == "ferry_echo") {
    return BackendKind::kEcho;
  }
  return std::nullopt;
}

// Reads one parsed config, collecting diagnostics on the way.
class Reader {
 public:
  Reader(const inference::ModelConfig& message, const ConfigNode& node,
         ConfigDiagnostics& diagnostics)
      : message_(message), node_(node), diagnostics_(diagnostics) {}

  ModelOptions Read(const std::string& folder) {
    FindStringsNotUtf8(node_, diagnostics_);
    FindUnsupportedFields(node_, diagnostics_);
    ReadName(folder);
    ReadBackend();
    ReadConfigTensors(message_, node_, options_, diagnostics_);
    ReadScheduling();
    ReadOptimization();
    ReadVersions();
    ReadConfigParameters(node_, options_, diagnostics_);
    ReadConfigWarmUp(message_, node_, options_, diagnostics_);
    CheckNetwork();
    options_.notes = diagnostics_.TakeNotes();
    return std::move(options_);
  }

 private:
  void Add(absl::string_view field, const std::string& text) {
    diagnostics_.Add(node_.Line(field), text);
  }

  void ReadName(const std::string& folder) {
    options_.name = folder;
    if (!message_.name().empty() && message_.name() != folder) {
      Add("name", absl::StrCat("field 'name': expected the folder's name, '",
                               folder, "', got '", message_.name(), "'"));
    }
  }

  void ReadBackend() {
    options_.file = message_.default_model_filename();
    if (!message_.runtime().empty() && message_.runtime() != kTritonsLibrary) {
      Add("runtime",
          absl::StrCat("field 'runtime': expected '", kTritonsLibrary,
                       "', which Triton fills in, or none, got '",
                       message_.runtime(), "'"));
    }
    if (message_.backend().empty() && message_.platform().empty()) {
      ReadFile();  // TorchScript, or a package
      return;
    }
    const bool by_platform = message_.backend().empty();
    const std::string& name =
        by_platform ? message_.platform() : message_.backend();
    const absl::string_view field = by_platform ? "platform" : "backend";
    const std::optional<BackendKind> backend = FindBackend(name);
    if (!backend.has_value() && !AdviceOnBackend(name).empty()) {
      Add(field, absl::StrCat("field '", field, "': ", AdviceOnBackend(name),
                              "; got '", name, "'"));
      return;
    }
    if (!backend.has_value()) {
      Add(field,
          absl::StrCat("field '", field,
                       "': expected 'pytorch', 'ferry_network', 'ferry_sim' "
                       "or 'ferry_echo' (platform: 'pytorch_libtorch' or "
                       "'torch_aoti'), got '",
                       name, "'"));
      return;
    }
    options_.backend = *backend;
    if (!by_platform && !message_.platform().empty()) {
      ReadPlatform(name);
    }
    ReadFile();
  }

  // Beside a backend: TorchScript and AOTInductor have one name there.
  void ReadPlatform(const std::string& backend) {
    const std::optional<BackendKind> platform =
        FindBackend(message_.platform());
    if (backend == "pytorch" && platform == BackendKind::kAotInductor) {
      options_.backend = *platform;
    } else if (platform != options_.backend) {
      Add("platform",
          absl::StrCat("field 'platform': expected the backend's, '", backend,
                       "', got '", message_.platform(), "'"));
    }
  }

  void ReadFile() {
    const absl::string_view advice = AdviceOnFile(options_.file);
    if (!advice.empty()) {
      Add("default_model_filename",
          absl::StrCat("field 'default_model_filename': ", advice, "; got '",
                       options_.file, "'"));
    }
    if (options_.file.find('/') != std::string::npos) {
      Add("default_model_filename",
          absl::StrCat("field 'default_model_filename': expected the name of "
                       "a file in the version folder, got '",
                       options_.file, "'"));
    }
    const bool is_package = absl::EndsWith(options_.file, kPackageEnding);
    if (is_package && options_.backend == BackendKind::kTorchScript &&
        message_.platform().empty()) {
      options_.backend = BackendKind::kAotInductor;
    } else if (is_package != (options_.backend == BackendKind::kAotInductor) &&
               !options_.file.empty()) {
      Add("default_model_filename",
          absl::StrCat("field 'default_model_filename': expected a .pt2 file "
                       "with platform 'torch_aoti' and no other, got '",
                       options_.file, "'"));
    }
  }

  void ReadScheduling() {
    options_.max_wait = kDefaultMaxWait;
    if (message_.has_dynamic_batching()) {
      options_.batching = Batching::kAcrossRequests;
      if (options_.spec.max_batch_size == 0) {
        Add("dynamic_batching",
            "field 'dynamic_batching': expected max_batch_size >= 1, got 0");
      }
      const uint64_t delay =
          message_.dynamic_batching().max_queue_delay_microseconds();
      if (delay > kMaxQueueDelayMicroseconds) {
        diagnostics_.Add(
            node_.Child("dynamic_batching")
                .Line("max_queue_delay_microseconds"),
            absl::StrCat("field 'max_queue_delay_microseconds': expected at "
                         "most ",
                         kMaxQueueDelayMicroseconds, ", got ", delay));
      } else if (delay > 0) {
        options_.max_wait =
            std::chrono::microseconds(static_cast<int64_t>(delay));
      }
      ReadLevels(message_.dynamic_batching(), node_.Child("dynamic_batching"),
                 options_, diagnostics_);
      ReadPreferences(message_.dynamic_batching(),
                      node_.Child("dynamic_batching"));
    }
    ReadInstances();
  }

  void ReadPreferences(const inference::ModelDynamicBatching& batching,
                       const ConfigNode& node) {
    for (int i = 0; i < batching.preferred_batch_size_size(); ++i) {
      const int32_t size = batching.preferred_batch_size(i);
      if (size < 1 || size > options_.spec.max_batch_size) {
        diagnostics_.Add(
            node.Line("preferred_batch_size", i),
            absl::StrCat("field 'preferred_batch_size': expected 1 to "
                         "max_batch_size, ",
                         options_.spec.max_batch_size, ", got ", size));
      } else if (options_.enough_rows == 0 || size < options_.enough_rows) {
        options_.enough_rows = size;
      }
    }
    options_.preserve_ordering = batching.preserve_ordering();
    if (options_.preserve_ordering && batching.priority_levels() > 1) {
      diagnostics_.Add(node.Line("preserve_ordering"),
                       "field 'preserve_ordering': expected at most one of "
                       "priority_levels with it: an urgent request overtakes");
    }
  }

  // Which device there is is the process's choice: models/repository says
  // where a config names another.
  void ReadKind(const inference::ModelInstanceGroup& group,
                const ConfigNode& node) {
    using Group = inference::ModelInstanceGroup;
    if (group.kind() != Group::KIND_AUTO && group.kind() != Group::KIND_CPU &&
        group.kind() != Group::KIND_GPU) {
      diagnostics_.Add(
          node.Line("kind"),
          absl::StrCat("field 'instance_group.kind': expected KIND_AUTO, "
                       "KIND_CPU or KIND_GPU, got ",
                       EnumName(group.kind())));
    }
    for (int i = 0; i < group.gpus_size(); ++i) {
      if (group.gpus(i) < 0 || group.kind() == Group::KIND_CPU) {
        diagnostics_.Add(
            node.Line("gpus", i),
            absl::StrCat("field 'instance_group.gpus': expected numbers of "
                         "GPUs, from 0, and none with KIND_CPU, got ",
                         group.gpus(i)));
      }
    }
    options_.names_cpu |= group.kind() == Group::KIND_CPU;
    options_.names_gpu |=
        group.kind() == Group::KIND_GPU || group.gpus_size() > 0;
    options_.names_gpus |= group.gpus_size() > 1;
  }

  void ReadOptimization() {
    const auto& optimization = message_.optimization();
    if (optimization.has_cuda()) {
      options_.use_graphs = optimization.cuda().graphs();
    }
    if (optimization.graph().level() < 0) {
      diagnostics_.Add(
          node_.Child("optimization").Child("graph").Line("level"),
          absl::StrCat("field 'optimization.graph.level': expected at least 0, "
                       "as graphs are always frozen and fused, got ",
                       optimization.graph().level()));
    }
  }

  void ReadInstances() {
    int64_t count = 0;
    bool is_told = false;
    for (int i = 0; i < message_.instance_group_size(); ++i) {
      const auto& group = message_.instance_group(i);
      const ConfigNode node = node_.Child("instance_group", i);
      ReadKind(group, node);
      if (group.count() < 0 || group.count() > kMaxInstances) {
        is_told = true;
        diagnostics_.Add(
            node.Line("count"),
            absl::StrCat("field 'instance_group.count': expected 0 "
                         "to ",
                         kMaxInstances, ", got ", group.count()));
      }
      count += group.count() == 0 ? 1 : group.count();
    }
    if (count > kMaxInstances && !is_told) {
      diagnostics_.Add(node_.Line("instance_group", 0),
                       absl::StrCat("field 'instance_group': expected at most ",
                                    kMaxInstances, " instances, got ", count));
    }
    options_.instance_count = static_cast<int32_t>(count == 0 ? 1 : count);
  }

  void ReadVersions() {
    const auto& policy = message_.version_policy();
    VersionChoice& choice = options_.versions;
    if (policy.has_all()) {
      choice.kind = VersionChoice::Kind::kAll;
    } else if (policy.has_specific()) {
      choice.kind = VersionChoice::Kind::kSpecific;
      if (policy.specific().versions().empty()) {
        Add("version_policy",
            "field 'version_policy.specific.versions': expected at least one "
            "version, got none");
      }
      CheckVersions(policy.specific());
      choice.versions.assign(policy.specific().versions().begin(),
                             policy.specific().versions().end());
    } else if (policy.has_latest()) {
      choice.latest_count =
          std::max<int64_t>(policy.latest().num_versions(), 1);
    }
  }

  void CheckVersions(const inference::ModelVersionPolicy::Specific& specific) {
    const ConfigNode node = node_.Child("version_policy").Child("specific");
    for (int i = 0; i < specific.versions_size(); ++i) {
      if (specific.versions(i) < 0) {
        diagnostics_.Add(
            node.Line("versions", i),
            absl::StrCat("field 'version_policy.specific.versions': expected "
                         "at least 0, got ",
                         specific.versions(i)));
      }
    }
  }

  void CheckNetwork() {
    if (options_.backend == BackendKind::kNetwork && options_.network.empty()) {
      diagnostics_.Add(
          Place(),
          "parameter 'ferry.network': expected 'mlp', 'resnet50' or "
          "'encoder', got none");
    }
  }

  const inference::ModelConfig& message_;
  const ConfigNode node_;
  ConfigDiagnostics& diagnostics_;
  ModelOptions options_;
};

}  // namespace

ModelOptions ReadConfigMessage(const inference::ModelConfig& message,
                               const ConfigNode& node, const std::string& name,
                               ConfigDiagnostics& diagnostics) {
  return Reader(message, node, diagnostics).Read(name);
}

namespace {

struct TypePair {
  inference::DataType config;
  DataType type;
};
constexpr TypePair kTypes[] = {
    {inference::TYPE_BOOL, DataType::kBool},
    {inference::TYPE_UINT8, DataType::kUint8},
    {inference::TYPE_UINT16, DataType::kUint16},
    {inference::TYPE_UINT32, DataType::kUint32},
    {inference::TYPE_UINT64, DataType::kUint64},
    {inference::TYPE_INT8, DataType::kInt8},
    {inference::TYPE_INT16, DataType::kInt16},
    {inference::TYPE_INT32, DataType::kInt32},
    {inference::TYPE_INT64, DataType::kInt64},
    {inference::TYPE_FP16, DataType::kFp16},
    {inference::TYPE_FP32, DataType::kFp32},
    {inference::TYPE_FP64, DataType::kFp64},
    {inference::TYPE_BF16, DataType::kBf16},
    {inference::TYPE_STRING, DataType::kBytes},
};

}  // namespace

std::optional<DataType> FromConfigType(inference::DataType type) {
  for (const TypePair& pair : kTypes) {
    if (pair.config == type) {
      return pair.type;
    }
  }
  return std::nullopt;
}

inference::DataType ToConfigType(DataType type) {
  for (const TypePair& pair : kTypes) {
    if (pair.type == type) {
      return pair.config;
    }
  }
  return inference::TYPE_INVALID;
}

}  // namespace ferry

// Implements the entries of ferry_torch, the library of backends on LibTorch.
#include "models/torch/torch_entry.h"

#include <c10/util/Exception.h>
#include <unistd.h>

#include <memory>
#include <new>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "models/failure_log.h"
#include "models/failure_reason.h"
#include "models/torch/aoti/aoti_network.h"
#include "models/torch/device/device_runtime.h"
#include "models/torch/device/torch_device_model.h"
#include "models/torch/network_probe.h"
#include "models/torch/networks/network_factory.h"
#include "models/torch/op_library.h"
#include "models/torch/precision_check.h"
#include "models/torch/script/torch_script.h"
#include "models/torch/torch_model.h"

namespace ferry {
namespace {

// Where a model lies, and what it is to run on.
struct Source {
  const std::string& path;
  at::Device device = at::kCPU;
  std::string architecture = {};
};

// What to do where torch says that it lacks an operator.
const char* OperatorHint(const std::string& why) {
  const bool lacks_operator = absl::StrContains(why, "Unknown builtin op") ||
                              absl::StrContains(why, "Could not find schema");
  return lacks_operator ? " (--op-library opens a library that has it)" : "";
}

// The types of a package are compiled in: its rows alone can be looked at.
absl::StatusOr<std::unique_ptr<Network>> LoadPackage(const Source& source,
                                                     ModelOptions& options,
                                                     LoadReport& report) {
  auto network =
      LoadAotiNetwork(options, source.path, source.device, source.architecture);
  if (!network.ok()) {
    return network;
  }
  const bool has_buckets = !options.buckets.empty();
  NetworkProbe probe(options, source.device);
  probe.Find(**network, Precision::kNative);
  CheckRows(probe, **network, Precision::kNative, options, report);
  if (!has_buckets || report.mixed_output.empty()) {
    return network;
  }
  if (access(source.path.c_str(), F_OK) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "it mixes the rows of a batch, in output '", report.mixed_output,
        "', and has packages of ferry.buckets alone: expected '", source.path,
        "' for batches of any size, which are not padded"));
  }
  network->reset();  // not both at once
  return LoadAotiNetwork(options, source.path, source.device,
                         source.architecture);
}

// Runs the network in fp32, on the processor, where no row ends a device.
absl::Status RunInFp32(const Source& source, ModelOptions options,
                       NetworkProbe& probe, LoadReport& report) {
  options.precision = Precision::kFp32;
  const auto network = MakeNetwork(options, source.path, at::kCPU);
  if (!network.ok()) {
    return network.status();
  }
  probe.Find(**network, Precision::kFp32);
  if (probe.has_run()) {
    probe.RunMore(**network, Precision::kFp32);
  } else {
    report.why_not_compared = probe.failure();
  }
  return absl::OkStatus();
}

// Weights of a file are compared, those that are drawn are not.
absl::StatusOr<std::unique_ptr<Network>> LoadNetworkOfFerry(
    const Source& source, const ModelOptions& options, LoadReport& report) {
  report.has_independent_rows = true;  // of each of these networks
  NetworkProbe probe(options, at::kCPU);
  if (options.precision == Precision::kBf16 && !source.path.empty()) {
    if (absl::Status status = RunInFp32(source, options, probe, report);
        !status.ok()) {
      return status;
    }
  }
  auto network = MakeNetwork(options, source.path, source.device);
  if (network.ok() && probe.has_run()) {
    if (absl::Status status =
            CheckPrecision(probe, **network, source.device, options, report);
        !status.ok()) {
      return status;
    }
  }
  return network;
}

// Completes options.spec where the config leaves tensors out.
absl::StatusOr<std::unique_ptr<Network>> LoadNetwork(const Source& source,
                                                     ModelOptions& options,
                                                     LoadReport& report) {
  const std::string& path = source.path;
  absl::Status failure;
  try {
    if (options.backend == BackendKind::kTorchScript) {
      return LoadTorchScript(path, options, {.device = source.device}, report);
    }
    if (options.backend == BackendKind::kAotInductor) {
      return LoadPackage(source, options, report);
    }
    return LoadNetworkOfFerry(source, options, report);
  } catch (const c10::Error& error) {
    if (IsOutOfMemory(error)) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "cannot load '", path, "': ", error.what_without_backtrace()));
    }
    failure = AsFailure(error.what_without_backtrace());
  } catch (const std::exception& error) {
    failure = AsFailure(error.what());
  }
  LogLoadTrace(options.name, failure);
  const std::string why(failure.message());
  const std::string text =
      absl::StrCat("cannot load '", path, "': ", why, OperatorHint(why));
  return absl::StrContains(why, "allocate memory") ||
                 absl::StrContains(why, "bad_alloc")
             ? absl::ResourceExhaustedError(text)
             : absl::InvalidArgumentError(text);
}

// What a device has no memory of its own for.
absl::Status CheckDeviceSpec(const ModelSpec& spec) {
  for (const auto& [side, tensors] :
       {std::pair("input", &spec.inputs), std::pair("output", &spec.outputs)}) {
    for (const TensorSpec& tensor : *tensors) {
      if (tensor.type == DataType::kBytes) {
        return absl::InvalidArgumentError(absl::StrCat(
            side, " '", tensor.name,
            "': a model on a device takes and gives numbers, the config has "
            "TYPE_STRING: serve it with --device=cpu"));
      }
    }
  }
  return absl::OkStatus();
}

DeviceModelOrStatus LoadDeviceModel(const ModelOptions& options,
                                    const std::string& path,
                                    DeviceRuntime& runtime,
                                    LoadReport& report) {
  ModelOptions completed = options;
  completed.instance_count = 1;
  if (absl::Status status = CheckDeviceSpec(options.spec); !status.ok()) {
    return status;
  }
  absl::StatusOr<std::unique_ptr<Network>> network = LoadNetwork(
      {path, runtime.device(), runtime.architecture()}, completed, report);
  if (!network.ok()) {
    return network.status();
  }
  if (absl::Status status = CheckDeviceSpec(completed.spec); !status.ok()) {
    return status;
  }
  try {
    return std::make_unique<TorchDeviceModel>(
        *std::move(network), completed, runtime,
        MayComputeParts(completed, report) ? Halves::kAllowed : Halves::kNone);
  } catch (const c10::Error& error) {
    return IsOutOfMemory(error)
               ? absl::ResourceExhaustedError(error.what_without_backtrace())
               : absl::InternalError(
                     absl::StrCat("on ", runtime.device().str(), ": ",
                                  error.what_without_backtrace()));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        "no memory that the device can read is left");
  }
}

}  // namespace
}  // namespace ferry

void FerryLoadTorchModels(const ferry::ModelOptions& options,
                          const std::string& path, ferry::LoadReport& report,
                          ferry::CpuModelsOrStatus& models) {
  ferry::ModelOptions completed = options;
  absl::StatusOr<std::unique_ptr<ferry::Network>> loaded =
      ferry::LoadNetwork({path}, completed, report);
  if (!loaded.ok()) {
    models = loaded.status();
    return;
  }
  // Shared: the instances of a model have its weights once.
  const std::shared_ptr<ferry::Network> network = *std::move(loaded);
  std::vector<std::unique_ptr<ferry::CpuModel>> instances;
  for (int32_t instance = 0; instance < completed.instance_count; ++instance) {
    instances.push_back(
        std::make_unique<ferry::TorchModel>(network, completed));
  }
  models = std::move(instances);
}

void FerryLoadDeviceModel(const ferry::ModelOptions& options,
                          const std::string& path,
                          ferry::DeviceRuntime& runtime,
                          ferry::LoadReport& report,
                          ferry::DeviceModelOrStatus& model) {
  model = ferry::LoadDeviceModel(options, path, runtime, report);
}

void FerryOpenOpLibrary(const std::string& path,
                        absl::StatusOr<int>& operators) {
  operators = ferry::LoadOpLibrary(path);
}

// Implements LoadAotiNetwork: loads packages, chooses one by a batch's rows.
#include "models/torch/aoti/aoti_network.h"

#include <torch/csrc/inductor/aoti_runner/model_container_runner_cpu.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "models/files/temporary_folder.h"
#include "models/torch/aoti/aoti_package.h"
#include "models/torch/libtorch_name.h"
#include "models/torch/tensor_places.h"
#include "models/torch/types.h"

namespace ferry {
namespace {

namespace fs = std::filesystem;

using Runner = torch::inductor::AOTIModelContainerRunner;

// The first run of a package folds its constants.
constexpr int kWarmUpRuns = 2;

// One package, loaded.
struct LoadedPackage {
  std::string name;                         // of its file
  std::unique_ptr<TemporaryFolder> folder;  // of a device's kernels, or none
  std::unique_ptr<Runner> runner;
  bool has_parallel_regions = false;
  std::vector<AotiInput> inputs;      // [place]
  std::vector<size_t> input_places;   // [input of the spec]
  std::vector<size_t> output_places;  // [output of the spec]
};

// A package may leave its weights to its loader, and would crash.
absl::Status CheckWeights(const Runner& runner) {
  if (!runner.getConstantNamesToOriginalFQNs().empty() &&
      runner.extract_constants_map(/*use_inactive=*/false).empty()) {
    return NoWeights();
  }
  return absl::OkStatus();
}

absl::Status PlaceTensors(const ModelSpec& spec, LoadedPackage& package) {
  const std::vector<std::string> call_spec = package.runner->get_call_spec();
  const auto arguments = ReadCallSpec(call_spec[0], {"ARGS", "KWARGS"});
  const auto results = ReadCallSpec(call_spec[1], {"RESULT"});
  if (!arguments.ok() || !results.ok()) {
    return arguments.ok() ? results.status() : arguments.status();
  }
  auto inputs = PlaceByName("input", spec.inputs, *arguments);
  auto outputs = PlaceByName("output", spec.outputs, *results);
  if (!inputs.ok() || !outputs.ok()) {
    return inputs.ok() ? outputs.status() : inputs.status();
  }
  if (package.inputs.size() != spec.inputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("inputs: the config has ", spec.inputs.size(),
                     ", the package's code takes ", package.inputs.size()));
  }
  package.input_places = *std::move(inputs);
  package.output_places = *std::move(outputs);
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    package.inputs[package.input_places[i]].name = spec.inputs[i].name;
  }
  return absl::OkStatus();
}

// Floats are cast, others are not.
absl::Status CheckTypes(const ModelSpec& spec, const LoadedPackage& package) {
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    const at::ScalarType wire = ToScalarType(spec.inputs[i].type);
    const at::ScalarType taken = package.inputs[package.input_places[i]].type;
    if (wire != taken &&
        !(at::isFloatingType(wire) && at::isFloatingType(taken))) {
      return absl::InvalidArgumentError(
          absl::StrCat("input '", spec.inputs[i].name, "': the config has ",
                       DataTypeName(spec.inputs[i].type),
                       ", the package takes ", c10::toString(taken)));
    }
  }
  return absl::OkStatus();
}

// Returns torch's loader of packages for that device; it throws what it cannot
// load.
absl::StatusOr<std::unique_ptr<Runner>> MakeRunner(const std::string& library,
                                                   const std::string& folder,
                                                   int32_t instances,
                                                   at::Device device) {
  const auto count = static_cast<size_t>(instances);
  if (device.is_cpu()) {
    return std::make_unique<torch::inductor::AOTIModelContainerRunnerCpu>(
        library, count);
  }
  const auto& makers = torch::inductor::getAOTIModelRunnerRegistry();
  const auto found = makers.find(c10::DeviceTypeName(device.type(), true));
  if (found == makers.end()) {
    return absl::FailedPreconditionError(
        absl::StrCat("LibTorch runs no packages on ", device.str()));
  }
  // One thread runs it, so that a graph can record it.
  return found->second(library, count, device.str(), folder,
                       /*run_single_threaded=*/true);
}

absl::StatusOr<LoadedPackage> Load(const ModelOptions& options,
                                   const std::string& path, at::Device device,
                                   const std::string& architecture) {
  static const Processor processor = Processor::Here();
  Processor here = processor;
  here.device = c10::DeviceTypeName(device.type(), /*lower_case=*/true);
  here.architecture = architecture;
  absl::Status status = OpenLibtorchName();
  if (!status.ok()) {
    return status;
  }
  absl::StatusOr<std::unique_ptr<TemporaryFolder>> folder =
      TemporaryFolder::Create(TemporaryFolder::Use::kUnpackedCode);
  if (!folder.ok()) {
    return folder.status();
  }
  absl::StatusOr<AotiPackage> unpacked =
      UnpackAotiPackage(path, here, (*folder)->path());
  if (!unpacked.ok()) {
    return unpacked.status();
  }
  LoadedPackage package;
  package.name = fs::path(path).filename();
  package.has_parallel_regions = unpacked->has_parallel_regions;
  package.inputs = std::move(unpacked->inputs);
  absl::StatusOr<std::unique_ptr<Runner>> runner = MakeRunner(
      unpacked->library, (*folder)->path(), options.instance_count, device);
  if (!runner.ok()) {
    return runner.status();
  }
  package.runner = *std::move(runner);
  if (!device.is_cpu()) {
    package.folder = *std::move(folder);
  }
  status = CheckWeights(*package.runner);
  if (status.ok()) {
    status = PlaceTensors(options.spec, package);
  }
  if (status.ok()) {
    status = CheckTypes(options.spec, package);
  }
  if (!status.ok()) {
    return absl::Status(status.code(), absl::StrCat("model file '", path,
                                                    "': ", status.message()));
  }
  return package;
}

class AotiNetwork final : public Network {
 public:
  // `by_rows`: packages of one size of a batch; 0: that of all others.
  AotiNetwork(std::map<int64_t, LoadedPackage> by_rows,
              const ModelOptions& options)
      : by_rows_(std::move(by_rows)), options_(options) {}

  absl::Status Forward(const Values& inputs, Values& outputs) override {
    const LoadedPackage* const package = Choose(inputs);
    if (package == nullptr) {
      return absl::InvalidArgumentError("no package for so many rows");
    }
    std::vector<at::Tensor> arguments(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      arguments[package->input_places[i]] = inputs[i].toTensor();
    }
    if (absl::Status status = CheckAotiInputs(package->inputs, arguments,
                                              options_.spec.max_batch_size > 0);
        !status.ok()) {
      return absl::Status(status.code(),
                          absl::StrCat(package->name, ": ", status.message()));
    }
    std::vector<at::Tensor> results;
    try {
      results = package->runner->run(arguments);
    } catch (const std::runtime_error&) {  // says where in torch, not why
      return absl::InternalError(absl::StrCat(
          package->name, ": its code failed, and wrote why to stderr"));
    }
    if (results.size() != package->output_places.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "outputs: the config has ", package->output_places.size(),
          ", the package gives ", results.size()));
    }
    for (size_t place : package->output_places) {
      outputs.push_back(results[place]);
    }
    return absl::OkStatus();
  }

  int warm_up_runs() const override { return kWarmUpRuns; }

  // The code of a package has those that it was compiled for.
  bool has_own_threads() const override {
    return std::any_of(by_rows_.begin(), by_rows_.end(), [](const auto& each) {
      return each.second.has_parallel_regions;
    });
  }

  std::optional<at::ScalarType> input_type(size_t input) const override {
    const LoadedPackage& any = by_rows_.begin()->second;
    return any.inputs[any.input_places[input]].type;
  }

 private:
  const LoadedPackage* Choose(const Values& inputs) const {
    const bool has_rows = options_.spec.max_batch_size > 0;
    auto found =
        by_rows_.find(has_rows ? inputs.front().toTensor().size(0) : 0);
    if (found == by_rows_.end()) {
      found = by_rows_.find(0);
    }
    return found == by_rows_.end() ? nullptr : &found->second;
  }

  const std::map<int64_t, LoadedPackage> by_rows_;
  const ModelOptions options_;
};

// Rows are cast before it is known which package takes them.
absl::Status CheckAlike(const std::map<int64_t, LoadedPackage>& by_rows) {
  const LoadedPackage& first = by_rows.begin()->second;
  for (const auto& [rows, other] : by_rows) {
    for (size_t i = 0; i < first.input_places.size(); ++i) {
      const AotiInput& one = first.inputs[first.input_places[i]];
      const AotiInput& two = other.inputs[other.input_places[i]];
      if (one.type != two.type) {
        return absl::InvalidArgumentError(
            absl::StrCat("input '", one.name, "': ", first.name, " takes ",
                         c10::toString(one.type), ", ", other.name, " takes ",
                         c10::toString(two.type), "; expected the same"));
      }
    }
  }
  return absl::OkStatus();
}

std::string PathOfBucket(const std::string& path, int32_t rows) {
  const fs::path whole(path);
  return (whole.parent_path() / absl::StrCat(whole.stem().string(), "_b", rows,
                                             whole.extension().string()))
      .string();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Network>> LoadAotiNetwork(
    const ModelOptions& options, const std::string& path, at::Device device,
    const std::string& architecture) {
  std::map<int64_t, std::string> paths;
  for (int32_t rows : options.buckets) {
    const std::string own = PathOfBucket(path, rows);
    if (access(own.c_str(), F_OK) == 0) {
      paths[rows] = own;
    }
  }
  if (paths.empty() || paths.size() < options.buckets.size()) {
    if (!paths.empty() && access(path.c_str(), F_OK) != 0) {
      return absl::NotFoundError(absl::StrCat(
          "cannot read model file '", path,
          "', which serves the buckets that have no package of their own: ",
          paths.size(), " of ", options.buckets.size(), " have one"));
    }
    paths[0] = path;
  }
  std::map<int64_t, LoadedPackage> by_rows;
  for (const auto& [rows, own] : paths) {
    absl::StatusOr<LoadedPackage> package =
        Load(options, own, device, architecture);
    if (!package.ok()) {
      return package.status();
    }
    by_rows[rows] = *std::move(package);
  }
  if (absl::Status status = CheckAlike(by_rows); !status.ok()) {
    return status;
  }
  return std::make_unique<AotiNetwork>(std::move(by_rows), options);
}

}  // namespace ferry

// Implements UnpackAotiPackage: reads the zip, and writes what is needed of it.
#include "models/torch/aoti/aoti_package.h"

#include <c10/util/Exception.h>
#include <caffe2/serialize/inline_container.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "models/torch/aoti/elf_library.h"
#include "models/torch/aoti/parallel_checks.h"

namespace ferry {
namespace {

using Archive = caffe2::serialize::PyTorchStreamReader;
using Json = nlohmann::json;

constexpr char kModels[] = "data/aotinductor/";
constexpr char kDefaultModel[] = "data/aotinductor/model/";

bool HasRecord(const std::vector<std::string>& records,
               absl::string_view prefix) {
  return std::any_of(records.begin(), records.end(),
                     [prefix](const std::string& record) {
                       return absl::StartsWith(record, prefix);
                     });
}

// Why the archive holds no compiled model.
std::string WhatElse(const std::vector<std::string>& records) {
  if (HasRecord(records, "code/") || HasRecord(records, "constants.pkl")) {
    return "it is a TorchScript file: serve it with platform "
           "'pytorch_libtorch' as model.pt";
  }
  if (HasRecord(records, "models/") || HasRecord(records, "serialized_")) {
    return "it holds a program of torch.export that is not compiled: compile "
           "it with torch._inductor.aoti_compile_and_package";
  }
  return absl::StrCat("it has nothing in ", kModels);
}

// Returns the folder of the model that is served: "model", or the only one.
absl::StatusOr<std::string> FindFolder(
    const std::vector<std::string>& records) {
  if (HasRecord(records, kDefaultModel)) {
    return kDefaultModel;
  }
  std::string folder;
  for (const std::string& record : records) {
    absl::string_view name = record;
    if (!absl::ConsumePrefix(&name, kModels)) {
      continue;
    }
    const std::string found =
        absl::StrCat(kModels, name.substr(0, name.find('/')), "/");
    if (!folder.empty() && folder != found) {
      return absl::InvalidArgumentError(absl::StrCat(
          "it holds several models, expected one or one named 'model'"));
    }
    folder = found;
  }
  if (folder.empty()) {
    return absl::InvalidArgumentError(WhatElse(records));
  }
  return folder;
}

// Returns the one library of the folder, without its ".so".
absl::StatusOr<std::string> FindLibrary(const std::vector<std::string>& records,
                                        const std::string& folder) {
  std::vector<std::string> libraries;
  for (const std::string& record : records) {
    if (HasRecord({record}, "data/weights/") ||
        HasRecord({record}, "data/constants/") ||
        absl::EndsWith(record, ".blob")) {
      return NoWeights();
    }
    if (absl::StartsWith(record, folder) && absl::EndsWith(record, ".so") &&
        record.find('/', folder.size()) == std::string::npos) {
      libraries.push_back(record.substr(0, record.size() - 3));
    }
  }
  if (libraries.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected one compiled library in ", folder, ", it has ",
        libraries.size(),
        libraries.empty() ? " (sources only: package_cpp_only)" : ""));
  }
  return libraries.front();
}

absl::StatusOr<std::string> ReadText(Archive& archive,
                                     const std::string& record) {
  if (!archive.hasRecord(record)) {
    return absl::InvalidArgumentError(absl::StrCat("it has no ", record));
  }
  const auto [data, size] = archive.getRecord(record);
  return std::string(static_cast<const char*>(data.get()), size);
}

absl::StatusOr<AotiMetadata> ReadMetadata(Archive& archive,
                                          const std::string& record) {
  const absl::StatusOr<std::string> text = ReadText(archive, record);
  if (!text.ok()) {
    return text.status();
  }
  const Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  AotiMetadata metadata;
  for (const auto& [key, value] : json.items()) {
    if (json.is_object() && value.is_string()) {
      metadata[key] = value.get<std::string>();
    }
  }
  return metadata;
}

absl::Status WriteFile(const std::string& path,
                       absl::Span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot unpack it to '", path, "': is there room for ",
                     bytes.size(), " bytes? TMPDIR names another folder"));
  }
  return absl::OkStatus();
}

absl::Status UnpackRecord(Archive& archive, const std::string& record,
                          const std::string& path) {
  const auto [data, size] = archive.getRecord(record);
  return WriteFile(path, {static_cast<const std::byte*>(data.get()), size});
}

absl::Status UnpackLibrary(Archive& archive, const std::string& record,
                           const std::vector<std::string>& sources,
                           AotiPackage& package) {
  const auto [data, size] = archive.getRecord(record);
  const absl::Span<std::byte> bytes(static_cast<std::byte*>(data.get()), size);
  if (absl::Status status = CheckIsWhole(bytes); !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckParallelRegions(bytes, sources);
      !status.ok()) {
    return status;
  }
  package.has_parallel_regions = HasParallelRegions(bytes);
  WeakenUniqueSymbols(bytes);
  return WriteFile(package.library, bytes);
}

// Returns the texts that the library was compiled from.
absl::StatusOr<std::vector<std::string>> ReadSources(
    Archive& archive, const std::vector<std::string>& records,
    const std::string& folder) {
  std::vector<std::string> sources;
  for (const std::string& record : records) {
    if (absl::StartsWith(record, folder) && absl::EndsWith(record, ".cpp")) {
      absl::StatusOr<std::string> source = ReadText(archive, record);
      if (!source.ok()) {
        return source.status();
      }
      sources.push_back(*std::move(source));
    }
  }
  return sources;
}

absl::StatusOr<AotiPackage> Unpack(const std::string& path,
                                   const Processor& processor,
                                   const std::string& folder) {
  Archive archive(path);
  const std::vector<std::string> records = archive.getAllRecords();
  const absl::StatusOr<std::string> model = FindFolder(records);
  if (!model.ok()) {
    return model.status();
  }
  const absl::StatusOr<std::string> library = FindLibrary(records, *model);
  if (!library.ok()) {
    return library.status();
  }
  const absl::StatusOr<AotiMetadata> metadata =
      ReadMetadata(archive, absl::StrCat(*library, "_metadata.json"));
  if (!metadata.ok()) {
    return metadata.status();
  }
  absl::Status status = CheckAotiTarget(*metadata, processor);
  if (!status.ok()) {
    return status;
  }
  const absl::StatusOr<std::string> source =
      ReadText(archive, absl::StrCat(*library, ".cpp"));
  if (!source.ok()) {
    return source.status();
  }
  absl::StatusOr<std::vector<AotiInput>> inputs = ReadAotiInputs(*source);
  if (!inputs.ok()) {
    return inputs.status();
  }
  const absl::StatusOr<std::vector<std::string>> sources =
      ReadSources(archive, records, *model);
  if (!sources.ok()) {
    return sources.status();
  }
  AotiPackage package = {*std::move(inputs), absl::StrCat(folder, "/model.so")};
  status =
      UnpackLibrary(archive, absl::StrCat(*library, ".so"), *sources, package);
  // Which of torch's operators the library calls by name, where it does.
  if (const std::string calls = absl::StrCat(*library, ".json");
      status.ok() && archive.hasRecord(calls)) {
    status = UnpackRecord(archive, calls, absl::StrCat(folder, "/model.json"));
  }
  for (const std::string& record : records) {
    if (status.ok() && absl::StartsWith(record, *model) &&
        (absl::EndsWith(record, ".cubin") ||
         absl::EndsWith(record, ".fatbin"))) {
      status = UnpackRecord(
          archive, record,
          absl::StrCat(folder, "/", record.substr(record.rfind('/') + 1)));
    }
  }
  if (!status.ok()) {
    return status;
  }
  return package;
}

}  // namespace

absl::Status NoWeights() {
  return absl::InvalidArgumentError(
      "its weights are not in its library: compile it with "
      "torch._inductor.config.aot_inductor.package_constants_in_so = True");
}

absl::StatusOr<AotiPackage> UnpackAotiPackage(const std::string& path,
                                              const Processor& processor,
                                              const std::string& folder) {
  if (access(path.c_str(), R_OK) != 0) {
    return absl::NotFoundError(
        absl::StrCat("cannot read model file '", path, "'"));
  }
  absl::StatusOr<AotiPackage> package = absl::InternalError("not read");
  try {
    package = Unpack(path, processor, folder);
  } catch (const c10::Error& error) {
    package = absl::InvalidArgumentError(error.what_without_backtrace());
  }
  if (package.ok()) {
    return package;
  }
  return absl::Status(
      package.status().code(),
      absl::StrCat("model file '", path, "': ", package.status().message()));
}

}  // namespace ferry

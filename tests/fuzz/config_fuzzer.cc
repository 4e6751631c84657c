// config_fuzzer fuzzes the reader of model configs: the input is a config.pbtxt
// or, where it begins with '{', the JSON that a client loads a model with.
//
// What must hold, beside that nothing is read or written where it may not be:
//   1. What is refused is refused by lines that each name the source.
//   2. What is accepted keeps the bounds that the rest of Ferry relies on.
//   3. An accepted config, printed as text or as JSON, means the same when it
//      is read again; so does the one that is completed and shown.
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <random>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "models/config/model_config.h"
#include "models/config/model_overrides.h"
#include "tests/fuzz/message_mutator.h"

namespace ferry {
namespace {

constexpr char kSource[] = "fuzz/config.pbtxt";
constexpr char kName[] = "fuzz";

std::string Described(const std::vector<TensorSpec>& tensors,
                      const ModelOptions::Reshapes& reshapes) {
  std::string text;
  for (size_t i = 0; i < tensors.size(); ++i) {
    absl::StrAppend(&text, " ", tensors[i].name, ":",
                    DataTypeName(tensors[i].type),
                    tensors[i].is_optional ? "?[" : "[",
                    absl::StrJoin(tensors[i].dims, ","), "]");
    if (!reshapes.empty() && reshapes[i].has_value()) {
      absl::StrAppend(&text, "as[", absl::StrJoin(*reshapes[i], ","), "]");
    }
  }
  return text;
}

// All that the options say.
std::string Described(const ModelOptions& o) {
  std::string levels;
  for (const LevelOptions& level : o.levels) {
    absl::StrAppend(&levels, " ", level.default_timeout.count(), "/",
                    level.may_shorten, "/", level.max_requests);
  }
  return absl::StrCat(o.name, " ", o.backend, " ", o.spec.max_batch_size, " in",
                      Described(o.spec.inputs, o.input_reshapes), " out",
                      Described(o.spec.outputs, o.output_reshapes), " labels ",
                      absl::StrJoin(o.label_files, ","), " versions ",
                      o.versions.kind, " ", o.versions.latest_count, " ",
                      absl::StrJoin(o.versions.versions, ","), " file ", o.file,
                      " batching ", o.batching, " ", o.policy, " ",
                      o.max_wait.count(), " ", o.preserve_ordering, " ",
                      o.enough_rows, " levels", levels, " ", o.default_level,
                      " buckets ", absl::StrJoin(o.buckets, ",")) +
         absl::StrCat(" instances ", o.instance_count, " ", o.weight, " ",
                      o.threads, " ", o.precision, " network ", o.network, " ",
                      absl::StrJoin(o.widths, ","), " ", o.weights,
                      " simulation ", o.simulation.alpha.count(), " ",
                      o.simulation.beta.count(), " ", o.simulation.jitter, " ",
                      o.simulation.fail_every, " ", o.simulation.throw_every,
                      " ", o.simulation.hang_every, " ",
                      o.simulation.abort_every, " ", o.simulation.seed);
}

void CheckTensors(const std::vector<TensorSpec>& tensors,
                  const ModelOptions::Reshapes& reshapes, BackendKind backend) {
  Check(tensors.size() <= 64, "at most 64 tensors");
  Check(!tensors.empty() || backend == BackendKind::kTorchScript,
        "only TorchScript says the tensors that are left out");
  Check(reshapes.empty() || reshapes.size() == tensors.size(),
        "a reshape has its tensor");
  for (const TensorSpec& tensor : tensors) {
    Check(!tensor.name.empty(), "tensors have names");
    Check(tensor.dims.size() <= 8, "at most 8 dimensions");
    for (const int64_t dim : tensor.dims) {
      Check(dim == kAnySize || (dim >= 1 && dim <= INT32_MAX),
            "sizes are positive or vary");
    }
  }
}

bool IsFileName(const std::string& text) {
  return text.find('/') == std::string::npos;
}

void CheckOptions(const ModelOptions& o) {
  Check(o.name == kName, "the name is the folder's");
  const int32_t rows = o.spec.max_batch_size;
  Check(rows >= 0 && rows <= 65'536, "max_batch_size is in its range");
  CheckTensors(o.spec.inputs, o.input_reshapes, o.backend);
  CheckTensors(o.spec.outputs, o.output_reshapes, o.backend);
  Check(o.label_files.size() == o.spec.outputs.size(), "labels of each output");
  Check(IsFileName(o.file) && IsFileName(o.weights) &&
            std::all_of(o.label_files.begin(), o.label_files.end(), IsFileName),
        "files are of the model's folder");
  Check(o.versions.latest_count >= 1 &&
            (o.versions.kind != VersionChoice::Kind::kSpecific ||
             !o.versions.versions.empty()),
        "some version is served");
  Check(o.max_wait >= Duration(0) && o.max_wait <= std::chrono::seconds(60),
        "waits are bounded");
  Check(o.enough_rows >= 0 && o.enough_rows <= rows, "enough rows are in one");
  Check(!o.levels.empty() && o.default_level >= 0 &&
            static_cast<size_t>(o.default_level) < o.levels.size(),
        "the default level is one");
  for (const LevelOptions& level : o.levels) {
    Check(level.default_timeout >= Duration(0) && level.max_requests >= 0,
          "levels are bounded");
  }
  Check(std::is_sorted(o.buckets.begin(), o.buckets.end()) &&
            (o.buckets.empty() ||
             (o.buckets.front() >= 1 && o.buckets.back() == rows)),
        "buckets end with the largest batch");
  Check(o.instance_count >= 1 && o.instance_count <= 64, "1 to 64 instances");
  Check(o.threads >= 1, "an instance has a thread");
  Check(o.weight > 0 && o.weight <= 1000, "the weight is one");
  Check(o.simulation.jitter >= 0 && o.simulation.jitter < 1 &&
            o.simulation.alpha >= Duration(0) &&
            o.simulation.beta >= Duration(0) && o.simulation.fail_every >= 0 &&
            o.simulation.throw_every >= 0,
        "simulated times are times");
}

std::string Printed(const google::protobuf::Message& message) {
  std::string text;
  Check(google::protobuf::TextFormat::PrintToString(message, &text),
        "a config can be printed");
  return text;
}

void CheckMeansTheSame(const absl::StatusOr<ModelConfig>& again,
                       const std::string& expected, const char* what) {
  if (!again.ok()) {
    std::fprintf(stderr, "%s\n", again.status().ToString().c_str());
  }
  Check(again.ok(), what);
  const std::string found = Described(again->options);
  if (found != expected) {
    std::fprintf(stderr, "expected %s\ngot      %s\n", expected.c_str(),
                 found.c_str());
  }
  Check(found == expected, what);
}

void CheckAccepted(ModelConfig config) {
  CheckOptions(config.options);
  const std::string described = Described(config.options);
  // One of the ways, by the text: each takes as long as the reading itself.
  if (described.size() % 2 == 0) {
    std::string json;
    Check(
        google::protobuf::util::MessageToJsonString(config.message, &json).ok(),
        "a config can be written as JSON");
    return CheckMeansTheSame(ParseModelConfigJson(json, kName), described,
                             "a config means the same as JSON");
  }
  Check(ApplyOverrides({}, ConfigOrigin::kFolder, config).ok(),
        "no overrides fit every config");
  CheckMeansTheSame(ParseModelConfig(Printed(config.message), kSource, kName),
                    described, "the completed config means the same");
}

void CheckRefusal(const absl::Status& status, absl::string_view source) {
  Check(absl::IsInvalidArgument(status), "a refusal is INVALID_ARGUMENT");
  Check(absl::StartsWith(status.message(), source),
        "a refusal names the source");
}

void CheckConfig(const std::string& text) {
  const bool is_json = absl::StartsWith(text, "{");
  absl::StatusOr<ModelConfig> config =
      is_json ? ParseModelConfigJson(text, kName)
              : ParseModelConfig(text, kSource, kName);
  if (config.ok()) {
    CheckAccepted(*std::move(config));
  } else {
    CheckRefusal(config.status(), is_json ? "config of the load" : kSource);
  }
}

}  // namespace
}  // namespace ferry

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  // Protobuf says on stderr where a text is no UTF-8.
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ferry::CheckConfig(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

// Half of the changes are of fields, half of letters.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                          size_t max_size, unsigned int seed) {
  std::minstd_rand random(seed);
  const std::string text(reinterpret_cast<const char*>(data), size);
  const bool is_json = absl::StartsWith(text, "{");
  inference::ModelConfig message;
  google::protobuf::TextFormat::Parser parser;
  if (random() % 2 == 0 || is_json || !parser.ParseFromString(text, &message)) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  ferry::MutateMessage(random, LLVMFuzzerMutate, message);
  std::string changed = ferry::Printed(message);
  if (random() % 32 == 0) {
    changed.clear();
    (void)google::protobuf::util::MessageToJsonString(message, &changed);
  }
  if (changed.size() > max_size) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  std::copy(changed.begin(), changed.end(), data);
  return changed.size();
}

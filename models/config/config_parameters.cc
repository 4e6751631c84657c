// Implements ReadConfigParameters by a table of keys and their readers.
#include "models/config/config_parameters.h"

#include <map>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "models/config/config_normalize.h"
#include "models/config/config_padding.h"
#include "models/config/near_key.h"

namespace ferry {
namespace {

constexpr int32_t kMaxThreads = 1024;
constexpr int64_t kMaxWidth = 1 << 20;
constexpr double kMaxServiceMs = 60'000;
constexpr double kMinWeight = 0.001;
constexpr double kMaxWeight = 1000;

// Keys that begin so are Ferry's.
constexpr absl::string_view kOwnPrefix = "ferry.";

// What a value must be, for the diagnostic; empty: it was read.
using Problem = std::string;

template <typename Integer>
Problem ReadInteger(absl::string_view text, Integer min, Integer max,
                    Integer& value) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(text, &number) || number < int64_t{min} ||
      number > int64_t{max}) {
    return absl::StrCat("an integer from ", min, " to ", max);
  }
  value = static_cast<Integer>(number);
  return "";
}

Problem ReadMilliseconds(absl::string_view text, Duration& value) {
  double ms = 0;
  if (!absl::SimpleAtod(text, &ms) || !(ms >= 0 && ms <= kMaxServiceMs)) {
    return absl::StrCat("milliseconds from 0 to ", kMaxServiceMs);
  }
  value = Milliseconds(ms);
  return "";
}

template <typename Integer>
Problem ReadList(absl::string_view text, Integer max,
                 std::vector<Integer>& values) {
  std::vector<Integer> read;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    Integer value = 0;
    if (!ReadInteger<Integer>(part, 1, max, value).empty()) {
      return absl::StrCat("integers from 1 to ", max, " with commas between");
    }
    read.push_back(value);
  }
  values = std::move(read);
  return "";
}

Problem ReadPolicy(absl::string_view text, ModelOptions& options) {
  const std::optional<PolicyKind> policy = ParsePolicy(std::string(text));
  if (!policy.has_value()) {
    return "'eager', 'window' or 'adaptive'";
  }
  options.policy = *policy;
  return "";
}

Problem ReadPrecision(absl::string_view text, ModelOptions& options) {
  const bool is_script = options.backend == BackendKind::kTorchScript;
  const std::optional<Precision> precision = ParsePrecision(text);
  if (!precision.has_value() ||
      (*precision == Precision::kNative && !is_script)) {
    return is_script ? "'bf16', 'fp32' or 'native'" : "'bf16' or 'fp32'";
  }
  options.precision = *precision;
  options.is_precision_chosen = true;
  return "";
}

Problem ReadTolerance(absl::string_view text, ModelOptions& options) {
  double tolerance = 0;
  if (!absl::SimpleAtod(text, &tolerance) ||
      !(tolerance > 0 && tolerance <= 1)) {
    return "a share of the largest value above 0 and up to 1, as in 0.05";
  }
  options.precision_tolerance = tolerance;
  return "";
}

// What a server has written into a config that comes back, not a choice.
Problem PassOver(absl::string_view /*text*/, ModelOptions& /*options*/) {
  return "";
}

Problem ReadBuckets(absl::string_view text, ModelOptions& options) {
  const int32_t max = options.spec.max_batch_size;
  Problem problem = ReadList<int32_t>(text, max, options.buckets);
  for (size_t i = 1; problem.empty() && i < options.buckets.size(); ++i) {
    if (options.buckets[i] <= options.buckets[i - 1]) {
      problem = "ascending integers";
    }
  }
  if (problem.empty() && options.buckets.back() != max) {
    problem = absl::StrCat("a list that ends with max_batch_size, ", max);
  }
  return problem;
}

Problem ReadNetwork(absl::string_view text, ModelOptions& options) {
  if (text != "mlp" && text != "resnet50" && text != "encoder") {
    return "'mlp', 'resnet50' or 'encoder'";
  }
  options.network = std::string(text);
  return "";
}

Problem ReadWeights(absl::string_view text, ModelOptions& options) {
  if (text.empty() || text.find('/') != absl::string_view::npos) {
    return "the name of a file in the version folder";
  }
  options.weights = std::string(text);
  return "";
}

Problem ReadJitter(absl::string_view text, ModelOptions& options) {
  double jitter = 0;
  if (!absl::SimpleAtod(text, &jitter) || !(jitter >= 0 && jitter < 1)) {
    return "a number from 0 to less than 1";
  }
  options.simulation.jitter = jitter;
  return "";
}

// One of each so many batches is meant; 0: none.
Problem ReadEvery(absl::string_view text, int64_t& every) {
  return ReadInteger<int64_t>(text, 0, INT32_MAX, every);
}

Problem ReadWeight(absl::string_view text, ModelOptions& options) {
  double weight = 0;
  if (!absl::SimpleAtod(text, &weight) ||
      !(weight >= kMinWeight && weight <= kMaxWeight)) {
    return absl::StrCat("a number from ", kMinWeight, " to ", kMaxWeight);
  }
  options.weight = weight;
  return "";
}

// Triton's words for a bool.
std::optional<bool> ParseBool(absl::string_view text) {
  const std::string lower = absl::AsciiStrToLower(text);
  if (lower == "true" || lower == "on" || lower == "1") {
    return true;
  }
  if (lower == "false" || lower == "off" || lower == "0") {
    return false;
  }
  return std::nullopt;
}

// 0, as in Triton: as many as if it did not stand there.
Problem ReadIntraOpThreads(absl::string_view text, ModelOptions& options) {
  int32_t threads = 0;
  Problem problem = ReadInteger<int32_t>(text, 0, kMaxThreads, threads);
  if (problem.empty() && threads > 0) {
    options.threads = threads;
  }
  return problem;
}

// 0, as in Triton: as many as if it did not stand there, which is 1.
Problem ReadInterOpThreads(absl::string_view text, ModelOptions& /*options*/) {
  int32_t threads = 0;
  return ReadInteger<int32_t>(text, 0, 1, threads).empty()
             ? ""
             : "0 or 1; write 'ferry.threads' for the threads of one operator, "
               "or "
               "more instances";
}

Problem ReadSwitch(absl::string_view text, bool& is_on) {
  const std::optional<bool> read = ParseBool(text);
  is_on = read.value_or(is_on);
  return read.has_value() ? "" : "'true' or 'false'";
}

// Backends that a parameter is for, as bits.
constexpr unsigned kScript = 1U << static_cast<int>(BackendKind::kTorchScript);
constexpr unsigned kPackage = 1U << static_cast<int>(BackendKind::kAotInductor);
constexpr unsigned kNetwork = 1U << static_cast<int>(BackendKind::kNetwork);
constexpr unsigned kSim = 1U << static_cast<int>(BackendKind::kSimulated);
constexpr unsigned kEcho = 1U << static_cast<int>(BackendKind::kEcho);
constexpr unsigned kTorch = kScript | kPackage | kNetwork;
constexpr unsigned kEvery = kTorch | kSim | kEcho;

struct Parameter {
  absl::string_view key;
  unsigned backends;
  Problem (*read)(absl::string_view text, ModelOptions& options);
};

using Text = absl::string_view;
constexpr Parameter kParameters[] = {
    {"ferry.policy", kEvery, ReadPolicy},
    {"ferry.weight", kEvery, ReadWeight},
    {"ferry.precision", kScript | kNetwork, ReadPrecision},
    {"ferry.precision_tolerance", kScript | kNetwork, ReadTolerance},
    {kAskedPrecisionKey, kScript | kNetwork, PassOver},
    {kServingPrecisionKey, kScript | kNetwork, PassOver},
    {kMaxErrorKey, kScript | kNetwork, PassOver},
    {"ferry.threads", kTorch,
     [](Text text, ModelOptions& o) {
       return ReadInteger<int32_t>(text, 1, kMaxThreads, o.threads);
     }},
    {"ferry.buckets", kTorch | kSim, ReadBuckets},
    {"ferry.cuda_graphs", kTorch,
     [](Text text, ModelOptions& o) { return ReadSwitch(text, o.use_graphs); }},
    {"ferry.channels_last", kScript,
     [](Text text, ModelOptions& o) {
       return ReadSwitch(text, o.use_channels_last);
     }},
    {"ferry.network", kNetwork, ReadNetwork},
    {"ferry.weights", kNetwork, ReadWeights},
    {"ferry.widths", kNetwork,
     [](Text text, ModelOptions& o) {
       return ReadList<int64_t>(text, kMaxWidth, o.widths);
     }},
    {"ferry.alpha_ms", kSim,
     [](Text text, ModelOptions& o) {
       return ReadMilliseconds(text, o.simulation.alpha);
     }},
    {"ferry.beta_ms", kSim,
     [](Text text, ModelOptions& o) {
       return ReadMilliseconds(text, o.simulation.beta);
     }},
    {"ferry.jitter", kSim, ReadJitter},
    {"ferry.fail_every", kSim,
     [](Text text, ModelOptions& o) {
       return ReadEvery(text, o.simulation.fail_every);
     }},
    {"ferry.throw_every", kSim,
     [](Text text, ModelOptions& o) {
       return ReadEvery(text, o.simulation.throw_every);
     }},
    {"ferry.hang_every", kSim,
     [](Text text, ModelOptions& o) {
       return ReadEvery(text, o.simulation.hang_every);
     }},
    {"ferry.abort_every", kSim,
     [](Text text, ModelOptions& o) {
       return ReadEvery(text, o.simulation.abort_every);
     }},
    {"ferry.seed", kSim,
     [](Text text, ModelOptions& o) {
       int64_t seed = 0;
       Problem problem = ReadInteger<int64_t>(text, 0, INT64_MAX, seed);
       o.simulation.seed = static_cast<uint64_t>(seed);
       return problem;
     }},
    // Those of Triton's PyTorch backend that make sense here.
    {"INTRA_OP_THREAD_COUNT", kTorch, ReadIntraOpThreads},
    {"INTER_OP_THREAD_COUNT", kTorch, ReadInterOpThreads},
};

// A switch of Triton's PyTorch backend, and how that always is here; nullopt:
// it makes no difference.
struct TritonSwitch {
  absl::string_view key;
  std::optional<bool> always;
};

constexpr TritonSwitch kTritonSwitches[] = {
    {"INFERENCE_MODE", true},
    {"ENABLE_WEIGHT_SHARING", true},
    {"ENABLE_JIT_EXECUTOR", true},
    {"ENABLE_JIT_PROFILING", true},
    {"DISABLE_OPTIMIZED_EXECUTION", false},
    {"ENABLE_CACHE_CLEANING", false},
    {"ENABLE_TENSOR_FUSER", std::nullopt},
    {"ENABLE_NVFUSER", std::nullopt},
    {"DISABLE_CUDNN", std::nullopt},
};

// A parameter of one tensor; the key ends with the tensor's name.
struct TensorParameter {
  absl::string_view prefix;
  absl::string_view side;
  unsigned backends;
  std::string (*read)(absl::string_view tensor, absl::string_view text,
                      ModelOptions& options);
};

constexpr TensorParameter kTensorParameters[] = {
    {kNormalizeKey, "input", kScript | kNetwork, ReadNormalization},
    {kPadKey, "input", kTorch, ReadPad},
    {kMaskKey, "input", kTorch, ReadMask},
    {kCutKey, "output", kTorch, ReadCut},
};

// Returns what to do about a key that is not known; "": it is the user's own.
std::string UnknownKey(absl::string_view key) {
  if (key == "ferry.slots" || key == "ferry.poll_us" ||
      key == "ferry.inline_us") {
    return "remove it; an instance pulls its batches without it";
  }
  std::string known;
  for (const Parameter& parameter : kParameters) {
    if (IsNear(key, parameter.key)) {
      return absl::StrCat("did you mean '", parameter.key, "'?");
    }
    absl::StrAppend(&known, known.empty() ? "" : ", ", parameter.key);
  }
  for (const TritonSwitch& one : kTritonSwitches) {
    if (IsNear(key, one.key)) {
      return absl::StrCat("did you mean '", one.key, "'?");
    }
  }
  for (const TensorParameter& parameter : kTensorParameters) {
    const std::string form =
        absl::StrCat(parameter.prefix, "<", parameter.side, ">");
    if (IsNear(key.substr(0, parameter.prefix.size()), parameter.prefix)) {
      return absl::StrCat("did you mean '", form, "'?");
    }
    absl::StrAppend(&known, ", ", form);
  }
  return absl::StartsWithIgnoreCase(key, kOwnPrefix)
             ? absl::StrCat("remove it; known are ", known)
             : "";
}

// `is_known` is false where it has no effect here: the user's own, or a switch
// of Triton that asks for what is not so.
Problem ReadParameter(absl::string_view key, absl::string_view text,
                      ModelOptions& options, bool& is_known) {
  is_known = true;
  const unsigned backend = 1U << static_cast<int>(options.backend);
  const auto refusal = [&](const Problem& expected) {
    return expected.empty() ? ""
                            : absl::StrCat("parameter '", key, "': expected ",
                                           expected, ", got '", text, "'");
  };
  for (const TensorParameter& parameter : kTensorParameters) {
    if (absl::StartsWith(key, parameter.prefix)) {
      if ((parameter.backends & backend) == 0) {
        return absl::StrCat("parameter '", key,
                            "' is not supported: remove it, it is not of this "
                            "backend");
      }
      return refusal(
          parameter.read(key.substr(parameter.prefix.size()), text, options));
    }
  }
  for (const TritonSwitch& one : kTritonSwitches) {
    if (key == one.key && (kTorch & backend) != 0) {
      const std::optional<bool> value = ParseBool(text);
      is_known = !value.has_value() || !one.always.has_value() ||
                 *value == *one.always;
      return refusal(value.has_value() ? "" : "'true' or 'false'");
    }
  }
  for (const Parameter& parameter : kParameters) {
    if (parameter.key != key) {
      continue;
    }
    if (key == "ferry.precision" &&
        options.backend == BackendKind::kAotInductor) {
      return absl::StrCat("parameter '", key,
                          "': a .pt2 file has the types it was compiled with: "
                          "remove it");
    }
    if ((parameter.backends & backend) == 0) {
      return absl::StrCat("parameter '", key,
                          "' is not of this backend: remove it");
    }
    return refusal(parameter.read(text, options));
  }
  const std::string advice = UnknownKey(key);
  is_known = !advice.empty();
  return is_known
             ? absl::StrCat("parameter '", key, "' is not supported: ", advice)
             : "";
}

}  // namespace

void ReadConfigParameters(const ConfigNode& config, ModelOptions& options,
                          ConfigDiagnostics& diagnostics) {
  const google::protobuf::Message& message = config.message();
  const auto* reflection = message.GetReflection();
  const auto* field = message.GetDescriptor()->FindFieldByName("parameters");
  std::map<std::string, std::string> read;
  const int count = reflection->FieldSize(message, field);
  for (int i = 0; i < count; ++i) {
    // A map entry, seen as the message of key and value that it is on the
    // wire: so the order and the lines of the text are kept.
    const ConfigNode entry = config.Child(*field, i);
    const auto* entry_reflection = entry.message().GetReflection();
    const auto* type = entry.message().GetDescriptor();
    const std::string key = entry_reflection->GetString(
        entry.message(), type->FindFieldByName("key"));
    const auto& value = entry_reflection->GetMessage(
        entry.message(), type->FindFieldByName("value"));
    const std::string text = value.GetReflection()->GetString(
        value, value.GetDescriptor()->FindFieldByName("string_value"));
    const Place place = config.Line(*field, i);
    if (!read.emplace(key, text).second) {
      diagnostics.Add(place,
                      absl::StrCat("parameter '", key, "' stands twice"));
      continue;
    }
    bool is_known = true;
    if (const Problem problem = ReadParameter(key, text, options, is_known);
        !problem.empty()) {
      diagnostics.Add(place, problem);
    } else if (!is_known) {
      diagnostics.Note(absl::StrCat("parameter '", key, "'"));
    }
  }
  // A config that was answered, and comes back as it was.
  if (read[std::string(kAskedPrecisionKey)] == kDefaultPrecision &&
      read["ferry.precision"] == read[std::string(kServingPrecisionKey)]) {
    options.precision = ModelOptions().precision;
    options.is_precision_chosen = false;
  }
  FinishPadding(config, options, diagnostics);
}

}  // namespace ferry

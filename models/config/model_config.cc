// Implements ParseModelConfig: its message's meaning is in config_reader.cc.
#include "models/config/model_config.h"

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/printable_text.h"
#include "flags/suggestion.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/json_util.h"
#include "models/config/config_diagnostics.h"
#include "models/config/config_reader.h"
#include "models/files/read_file.h"

namespace ferry {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr size_t kMaxShownBytes = 512;
// A config nests 6 messages deep. The parser recurses: without a bound a file
// of braces would take all of the stack.
constexpr int kMaxDepth = 32;

std::vector<std::string> FieldsOf(const Descriptor& message) {
  std::vector<std::string> names;
  for (int i = 0; i < message.field_count(); ++i) {
    names.push_back(message.field(i)->name());
  }
  return names;
}

// Returns the message at a path such as "input[0].reshape"; null where there is
// none.
const Descriptor* MessageAt(absl::string_view path) {
  const Descriptor* message = inference::ModelConfig::descriptor();
  for (absl::string_view part : absl::StrSplit(path, '.', absl::SkipEmpty())) {
    const FieldDescriptor* const field =
        message == nullptr ? nullptr
                           : message->FindFieldByName(
                                 std::string(part.substr(0, part.find('['))));
    message = field == nullptr ? nullptr : field->message_type();
  }
  return message;
}

using IsSought = std::function<bool(const Descriptor&)>;

// Returns the path from a message to the first, from the top down, that is
// sought, which may be itself: ""; none where it has no such message.
std::optional<std::string> PathTo(const Descriptor& from,
                                  const IsSought& is_sought) {
  std::vector<std::pair<const Descriptor*, std::string>> places = {{&from, ""}};
  std::set<const Descriptor*> seen;
  for (size_t at = 0; at < places.size(); ++at) {
    const auto [message, path] = places[at];
    if (is_sought(*message)) {
      return path;
    }
    for (int i = 0; i < message->field_count(); ++i) {
      const Descriptor* const child = message->field(i)->message_type();
      if (child != nullptr && seen.insert(child).second) {
        places.emplace_back(child, absl::StrCat(path, path.empty() ? "" : ".",
                                                message->field(i)->name()));
      }
    }
  }
  return std::nullopt;
}

// Returns "; it belongs in 'dynamic_batching'" of a field that a config has in
// that place, one below `message` before others; "" of one that it has nowhere.
std::string WhereItBelongs(const Descriptor& message,
                           const std::string& field) {
  const Descriptor& top = *inference::ModelConfig::descriptor();
  const IsSought has_field = [&](const Descriptor& one) {
    return one.FindFieldByName(field) != nullptr;
  };
  const std::optional<std::string> below = PathTo(message, has_field);
  const std::optional<std::string> path =
      below.has_value()
          ? PathTo(top, [&](const Descriptor& one) { return &one == &message; })
          : PathTo(top, has_field);
  if (!path.has_value()) {
    return "";
  }
  const std::string place =
      absl::StrCat(*path, below.has_value() && !path->empty() ? "." : "",
                   below.value_or(""));
  return place.empty() ? "; it belongs at the top of the config"
                       : absl::StrCat("; it belongs in '", place, "'");
}

// Says of a field that the message does not have which one it may be.
std::string UnknownField(const Descriptor& message, absl::string_view field) {
  const std::string cut(field.substr(0, kMaxShownBytes));
  return absl::StrCat("expected a field of ", message.name(), ", got '",
                      PrintableText(field, kMaxShownBytes), "'",
                      WhereItBelongs(message, cut),
                      Suggestion(cut, FieldsOf(message)));
}

// Returns what protobuf says of a config's text; of a field that it does not
// know, which it may be.
std::string OfText(const std::string& words) {
  const std::vector<std::string> parts = absl::StrSplit(words, '"');
  if (parts.size() < 4 || parts[2] != " has no field named ") {
    return words;
  }
  const Descriptor* const message = inference::ModelConfig::descriptor()
                                        ->file()
                                        ->pool()
                                        ->FindMessageTypeByName(parts[1]);
  return message == nullptr ? words : UnknownField(*message, parts[3]);
}

// The same of a config as JSON: "(input[0]) dimz: Cannot find field."
std::string OfJson(absl::string_view words) {
  absl::string_view field = words;
  if (!absl::ConsumeSuffix(&field, ": Cannot find field.")) {
    return std::string(words);
  }
  absl::string_view path;
  const size_t end = field.find(") ");
  if (absl::StartsWith(field, "(") && end != field.npos) {
    path = field.substr(1, end - 1);
    field.remove_prefix(end + 2);
  }
  const Descriptor* const message = MessageAt(path);
  return message == nullptr
             ? std::string(words)
             : absl::StrCat(path.empty() ? "" : absl::StrCat("(", path, ") "),
                            UnknownField(*message, field));
}

// Syntax errors and, as warnings, unknown fields.
class ParseFindings final : public google::protobuf::io::ErrorCollector {
 public:
  explicit ParseFindings(ConfigDiagnostics& diagnostics)
      : diagnostics_(diagnostics) {}

  void AddError(int line, int column, const std::string& message) override {
    const bool ends = absl::EndsWith(message, "got: ");  // no more words
    diagnostics_.Add(
        {.line = line + 1, .column = column + 1},
        ends ? absl::StrCat(message, "the end of the file") : message);
  }
  void AddWarning(int line, int /*column*/,
                  const std::string& message) override {
    diagnostics_.Add({.line = line + 1},
                     diagnostics_.keeps_more() ? OfText(message) : message);
  }

 private:
  ConfigDiagnostics& diagnostics_;
};

// Returns what is wrong with a text that protobuf did not read as JSON: the
// place of a syntax error, else protobuf's words, which name the field.
std::string WhatIsWrong(const std::string& json, absl::string_view words) {
  try {
    [[maybe_unused]] const auto parsed = nlohmann::json::parse(json);
  } catch (const nlohmann::json::exception& error) {
    const absl::string_view text = error.what();
    return std::string(text.substr(text.find("] ") + 2));  // without its number
  }
  words = absl::StripLeadingAsciiWhitespace(absl::StripPrefix(words, ":"));
  return OfJson(absl::StrReplaceAll(words, {{"\n", " "}}));
}

}  // namespace

absl::StatusOr<ModelConfig> ParseModelConfig(absl::string_view text,
                                             absl::string_view source,
                                             const std::string& name) {
  ConfigDiagnostics diagnostics(source);
  ParseFindings parse_findings(diagnostics);
  google::protobuf::TextFormat::ParseInfoTree places;
  google::protobuf::TextFormat::Parser parser;
  parser.AllowUnknownField(true);
  parser.SetRecursionLimit(kMaxDepth);
  parser.RecordErrorsTo(&parse_findings);
  parser.WriteLocationsTo(&places);
  ModelConfig config;
  google::protobuf::io::ArrayInputStream stream(text.data(),
                                                static_cast<int>(text.size()));
  // Where the syntax is broken, what was read before it is checked all the
  // same; diagnostics are not empty then.
  if (parser.Parse(&stream, &config.message)) {
    config.options = ReadConfigMessage(
        config.message, ConfigNode(config.message, &places), name, diagnostics);
    config.kept = config.message;
    config.message.set_name(name);
  } else if (diagnostics.empty()) {
    diagnostics.Add(Place(), "expected the text of a model config");
  }
  if (absl::Status status = diagnostics.ToStatus(); !status.ok()) {
    return status;
  }
  return config;
}

absl::StatusOr<ModelConfig> CheckModelConfig(inference::ModelConfig message,
                                             absl::string_view source,
                                             const std::string& name) {
  ConfigDiagnostics diagnostics(source);
  ModelConfig config;
  config.message = std::move(message);
  config.options = ReadConfigMessage(
      config.message, ConfigNode(config.message, nullptr), name, diagnostics);
  config.kept = config.message;
  config.message.set_name(name);
  if (absl::Status status = diagnostics.ToStatus(); !status.ok()) {
    return status;
  }
  return config;
}

absl::StatusOr<ModelConfig> ParseModelConfigJson(const std::string& text,
                                                 const std::string& name) {
  const std::string source =
      absl::StrCat("config of the load request of '", name, "'");
  if (text.size() > kMaxConfigBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": expected at most ", kMaxConfigBytes,
                     " bytes, got ", text.size()));
  }
  inference::ModelConfig message;
  const auto status =
      google::protobuf::util::JsonStringToMessage(text, &message);
  if (!status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        source, ": expected a model config as JSON: ",
        PrintableText(WhatIsWrong(text, status.message().ToString()),
                      kMaxShownBytes)));
  }
  return CheckModelConfig(std::move(message), source, name);
}

absl::StatusOr<std::string> ReadModelConfigText(const std::string& path) {
  absl::StatusOr<std::string> text = ReadFile(path, kMaxConfigBytes);
  return absl::IsNotFound(text.status())
             ? absl::NotFoundError(
                   absl::StrCat("cannot read model config '", path, "'"))
             : std::move(text);
}

absl::StatusOr<ModelConfig> ReadModelConfig(const std::string& path,
                                            const std::string& name) {
  const absl::StatusOr<std::string> text = ReadModelConfigText(path);
  if (!text.ok()) {
    return text.status();
  }
  return ParseModelConfig(*text, path, name);
}

}  // namespace ferry

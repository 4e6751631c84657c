// Implements ParseJsonPayload(): reads perf_analyzer's --input-data as JSON.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "bench/client/element_bits.h"
#include "bench/client/payload.h"
#include "tensor/bytes_elements.h"

namespace ferry::bench {
namespace {

using Json = nlohmann::json;

constexpr size_t kShownCharacters = 60;

// Reading lists in lists, and showing what is wrong, are recursive; to parse
// and to destroy them is not (nlohmann::json 3.11).
constexpr int kMostDepth = 32;

bool IsDeeperThan(const Json& value, int levels) {
  if (!value.is_structured()) {
    return false;
  }
  return levels == 0 ||
         std::any_of(value.begin(), value.end(), [levels](const Json& one) {
           return IsDeeperThan(one, levels - 1);
         });
}

std::string Shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kShownCharacters) {
    text.resize(kShownCharacters);
    text += "...";
  }
  return text;
}

absl::Status Wrong(const std::string& where, const std::string& expected,
                   const Json& found) {
  return absl::InvalidArgumentError(
      absl::StrCat(where, ": expected ", expected, ", found ", Shown(found)));
}

// Appends one element. Returns whether the type holds it.
bool Append(DataType type, const Json& value, std::string& out) {
  if (type == DataType::kBytes) {
    if (value.is_string()) {
      AppendBytesElement(value.get_ref<const std::string&>(), out);
    }
    return value.is_string();
  }
  if (value.is_boolean()) {
    return type == DataType::kBool &&
           AppendElement(type, int64_t{value.get<bool>()}, out);
  }
  if (value.is_number_unsigned()) {
    return AppendElement(type, value.get<uint64_t>(), out);
  }
  if (value.is_number_integer()) {
    return AppendElement(type, value.get<int64_t>(), out);
  }
  return value.is_number_float() &&
         AppendElement(type, value.get<double>(), out);
}

// Lists in lists are the rows of one array. Returns the element that is none of
// the type, and where it stands in the lists, last index first; null: none.
const Json* AppendAll(const InputSpec& input, const Json& list,
                      std::string& out, std::vector<size_t>& place) {
  for (size_t i = 0; i < list.size(); ++i) {
    const Json& value = list[i];
    const Json* const wrong = value.is_array()
                                  ? AppendAll(input, value, out, place)
                              : Append(input.type, value, out) ? nullptr
                                                               : &value;
    if (wrong != nullptr) {
      place.push_back(i);
      return wrong;
    }
  }
  return nullptr;
}

absl::Status ReadList(const InputSpec& input, const Json& list,
                      std::string where, std::string& out) {
  std::vector<size_t> place;
  const Json* const wrong = AppendAll(input, list, out, place);
  if (wrong == nullptr) {
    return absl::OkStatus();
  }
  for (auto index = place.rbegin(); index != place.rend(); ++index) {
    absl::StrAppend(&where, "[", *index, "]");
  }
  return Wrong(where, absl::StrCat("an element of ", DataTypeName(input.type)),
               *wrong);
}

absl::Status ReadBase64(const Json& text, const std::string& where,
                        std::string& out) {
  if (!text.is_string() ||
      !absl::Base64Unescape(text.get_ref<const std::string&>(), &out)) {
    return Wrong(where, "base64", text);
  }
  return absl::OkStatus();
}

absl::StatusOr<InputContents> ReadContents(const InputSpec& input,
                                           const Json& json,
                                           const std::string& where) {
  InputContents contents;
  const Json* list = &json;
  if (json.is_object() && json.contains("content")) {
    list = &json.at("content");
    if (json.contains("shape")) {
      const Json& shape = json.at("shape");
      contents.shape.emplace();
      for (const Json& dim : shape) {
        if (!shape.is_array() || !dim.is_number_unsigned()) {
          return Wrong(where, "a list of sizes as \"shape\"", shape);
        }
        contents.shape->push_back(dim.get<int64_t>());
      }
    }
  }
  absl::Status status;
  if (list->is_object() && list->contains("b64")) {
    status = ReadBase64(list->at("b64"), where, contents.bytes);
  } else if (list->is_array()) {
    status = ReadList(input, *list, where, contents.bytes);
  } else {
    status = Wrong(where, "a list, {\"b64\": ..} or {\"content\": ..}", json);
  }
  return status.ok() ? absl::StatusOr<InputContents>(std::move(contents))
                     : status;
}

absl::Status ReadEntry(const std::vector<InputSpec>& inputs, const Json& entry,
                       const std::string& where, std::vector<Sample>& samples) {
  if (!entry.is_object()) {
    return Wrong(where, "an object with a member for each input", entry);
  }
  std::map<std::string, InputContents> contents;
  for (const auto& [name, value] : entry.items()) {
    const InputSpec* input = nullptr;
    for (const InputSpec& one : inputs) {
      input = one.name == name ? &one : input;
    }
    if (input == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          where, ": expected names of inputs, found '", name, "'"));
    }
    auto read = ReadContents(*input, value,
                             absl::StrCat(where, ": input '", name, "'"));
    if (!read.ok()) {
      return read.status();
    }
    contents[name] = *std::move(read);
  }
  return AppendSamples(inputs, contents, where, samples);
}

}  // namespace

absl::StatusOr<std::vector<Sample>> ParseJsonPayload(
    const std::string& text, const std::string& name,
    const std::vector<InputSpec>& inputs) {
  Json document;
  try {
    document = Json::parse(text);
  } catch (const Json::exception& error) {
    // "[json...] parse error at line ...", or "number overflow parsing ..."
    const std::string why = error.what();
    return absl::InvalidArgumentError(absl::StrCat(
        name, ": expected JSON, found a ", why.substr(why.find("] ") + 2)));
  }
  if (!document.is_object() || !document.contains("data") ||
      !document.at("data").is_array()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name,
                     ": expected a JSON object with a list \"data\", as "
                     "perf_analyzer's --input-data takes"));
  }
  if (IsDeeperThan(document, kMostDepth)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": expected lists and objects in each other ",
                     kMostDepth, " deep at most, found more"));
  }
  std::vector<Sample> samples;
  size_t number = 0;
  const auto read = [&](const Json& entry) {
    return ReadEntry(inputs, entry,
                     absl::StrCat(name, ": entry ", ++number, " of \"data\""),
                     samples);
  };
  for (const Json& entry : document.at("data")) {
    absl::Status status;
    if (entry.is_array()) {  // a stream of steps
      for (const Json& step : entry) {
        if (status = read(step); !status.ok()) {
          return status;
        }
      }
    } else if (status = read(entry); !status.ok()) {
      return status;
    }
  }
  return samples;
}

}  // namespace ferry::bench

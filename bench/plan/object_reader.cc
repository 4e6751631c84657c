// Implements ObjectReader: finds members, and remembers what was asked for.
#include "bench/plan/object_reader.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bench/plan/number_check.h"

namespace ferry::plan {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxQuoted = 60;  // characters of a wrong value

std::string Quote(const Json* json) {
  if (json == nullptr) {
    return "nothing";
  }
  std::string text = json->dump(-1, ' ', true);
  if (text.size() > kMaxQuoted) {
    text = text.substr(0, kMaxQuoted) + "...";
  }
  return text;
}

}  // namespace

absl::StatusOr<Json> ParseObject(const std::string& text,
                                 const std::string& name) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    // "[json...] parse error at line ...", or "number overflow parsing ..."
    const std::string why = error.what();
    return absl::InvalidArgumentError(absl::StrCat(
        name, ": expected JSON, found a ", why.substr(why.find("] ") + 2)));
  }
}

ObjectReader::ObjectReader(const Json& json, std::string where)
    : json_(json), where_(std::move(where)) {
  if (!json_.is_object()) {
    status_ = absl::InvalidArgumentError(
        absl::StrCat(where_, ": expected an object, got ", Quote(&json_)));
  }
}

std::string ObjectReader::Text(const std::string& key,
                               const std::string& expected) {
  const Json* const found = Find(key);
  if (found == nullptr || !found->is_string() ||
      found->get_ref<const std::string&>().empty()) {
    Refuse(key, expected);
    return "";
  }
  return found->get<std::string>();
}

double ObjectReader::Number(const std::string& key, const std::string& expected,
                            std::optional<double> absent) {
  const Json* const found = Find(key);
  if (found == nullptr && absent.has_value()) {
    return *absent;
  }
  if (found == nullptr || !found->is_number() ||
      !CheckNotNegative(key, found->get<double>()).ok()) {
    Refuse(key, expected);
    return 0;
  }
  return found->get<double>();
}

const Json& ObjectReader::List(const std::string& key,
                               const std::string& expected) {
  static const Json& none = *new Json(Json::array());
  const Json* const found = Find(key);
  if (found == nullptr || !found->is_array() || found->empty()) {
    Refuse(key, expected);
    return none;
  }
  return *found;
}

void ObjectReader::Refuse(const std::string& key, const std::string& expected) {
  status_.Update(absl::InvalidArgumentError(absl::StrCat(
      where_, ": ", key, ": expected ", expected, ", got ", Quote(Find(key)))));
}

absl::Status ObjectReader::Finish() {
  if (!status_.ok()) {
    return status_;
  }
  for (const auto& [key, value] : json_.items()) {
    if (known_.count(key) == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          where_, ": expected the keys ", absl::StrJoin(known_, ", "), "; got ",
          Quote(&value), " for '", key, "'"));
    }
  }
  return absl::OkStatus();
}

const Json* ObjectReader::Find(const std::string& key) {
  known_.insert(key);
  if (!json_.is_object()) {
    return nullptr;
  }
  const auto found = json_.find(key);
  return found == json_.end() ? nullptr : &*found;
}

}  // namespace ferry::plan

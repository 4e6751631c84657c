// Member() and TextOf() read JSON of another program, in which what is missing
// or of another kind is as good as none.
//
// Thread safety: free functions over values.
#ifndef FERRY_DEPLOY_CTL_JSON_MEMBER_H_
#define FERRY_DEPLOY_CTL_JSON_MEMBER_H_

#include <nlohmann/json.hpp>
#include <string>

namespace ferry::ctl {

// Returns a member; null where there is none, or the JSON is no object.
inline const nlohmann::json& Member(const nlohmann::json& json,
                                    const char* key) {
  static const nlohmann::json none;
  const auto found = json.find(key);
  return found == json.end() ? none : *found;
}

// Returns a text; "" of another kind.
inline std::string TextOf(const nlohmann::json& json) {
  return json.is_string() ? json.get<std::string>() : std::string();
}

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_JSON_MEMBER_H_

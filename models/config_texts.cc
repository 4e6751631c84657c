// The text format takes any bytes as a string; the wire format does not.
#include "models/config_texts.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace ferry {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Returns how many bytes follow the first one of a UTF-8 character, or -1 for a
// byte that begins none.
int FollowingBytes(uint8_t first) {
  if (first < 0x80) {
    return 0;
  }
  if (first < 0xC2 || first > 0xF4) {
    return -1;
  }
  return first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
}

// Without surrogates, what is past U+10FFFF, and longer forms than needed.
bool IsUtf8(absl::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto first = static_cast<uint8_t>(text[i]);
    const int following = FollowingBytes(first);
    uint8_t least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    uint8_t most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (following < 0) {
      return false;
    }
    for (int k = 0; k < following; ++k) {
      const uint8_t byte =
          ++i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0};
      if (byte < least || byte > most) {
        return false;
      }
      least = 0x80;
      most = 0xBF;
    }
  }
  return true;
}

void CheckText(const ConfigNode& node, const FieldDescriptor& field, int index,
               ConfigFindings& findings) {
  const Message& message = node.message();
  const auto* reflection = message.GetReflection();
  const std::string text =
      field.is_repeated()
          ? reflection->GetRepeatedString(message, &field, index)
          : reflection->GetString(message, &field);
  if (!IsUtf8(text)) {
    findings.Add(node.Line(field, index),
                 absl::StrCat("field '", field.name(),
                              "': expected a text in UTF-8, got '",
                              absl::CHexEscape(text), "'"));
  }
}

}  // namespace

void FindTextsNotUtf8(const ConfigNode& config, ConfigFindings& findings) {
  const Message& message = config.message();
  const auto* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const bool is_message =
        field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (!is_message && field->type() != FieldDescriptor::TYPE_STRING) {
      continue;
    }
    const int count =
        field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      const int index = field->is_repeated() ? i : -1;
      if (is_message) {
        FindTextsNotUtf8(config.Child(*field, index), findings);
      } else {
        CheckText(config, *field, index, findings);
      }
    }
  }
}

}  // namespace ferry

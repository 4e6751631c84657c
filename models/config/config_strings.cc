// Implements FindStringsNotUtf8: protobuf's text format takes what is no UTF-8.
#include "models/config/config_strings.h"

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/printable_text.h"

namespace ferry {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

void CheckText(const ConfigNode& node, const FieldDescriptor& field, int index,
               ConfigDiagnostics& diagnostics) {
  const Message& message = node.message();
  const auto* reflection = message.GetReflection();
  const std::string text =
      field.is_repeated()
          ? reflection->GetRepeatedString(message, &field, index)
          : reflection->GetString(message, &field);
  if (!IsUtf8(text)) {
    diagnostics.Add(node.Line(field, index),
                    absl::StrCat("field '", field.name(),
                                 "': expected a text in UTF-8, got '",
                                 absl::CHexEscape(text), "'"));
  }
}

}  // namespace

void FindStringsNotUtf8(const ConfigNode& config,
                        ConfigDiagnostics& diagnostics) {
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
        FindStringsNotUtf8(config.Child(*field, index), diagnostics);
      } else {
        CheckText(config, *field, index, diagnostics);
      }
    }
  }
}

}  // namespace ferry

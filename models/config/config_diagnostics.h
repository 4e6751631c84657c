// ConfigDiagnostics collects everything wrong with one config text, with lines,
// so that it is refused in one message; ConfigNode knows where fields stand.
//
// Thread safety: thread-compatible.
#ifndef FERRY_MODELS_CONFIG_CONFIG_DIAGNOSTICS_H_
#define FERRY_MODELS_CONFIG_CONFIG_DIAGNOSTICS_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"

namespace ferry {

class ConfigDiagnostics {
 public:
  explicit ConfigDiagnostics(absl::string_view source) : source_(source) {}

  // `line` counts from 1; 0 where no line is to blame. Keeps the first 50, each
  // as PrintableText().
  void Add(int line, const std::string& text);

  bool empty() const { return diagnostics_.empty(); }

  // Returns OK, or INVALID_ARGUMENT with one line a diagnostic, in line order.
  absl::Status ToStatus() const;

 private:
  const std::string source_;
  std::vector<std::pair<int, std::string>> diagnostics_;
  size_t untold_ = 0;
};

// A message and where its fields stand in the text. Borrows both.
class ConfigNode {
 public:
  using InfoTree = google::protobuf::TextFormat::ParseInfoTree;

  ConfigNode(const google::protobuf::Message& message, const InfoTree* places)
      : message_(&message), places_(places) {}

  const google::protobuf::Message& message() const { return *message_; }

  // Returns the line of a field, from 1; 0 where the text lacks it. `index`
  // counts the values of a repeated field.
  int Line(absl::string_view field, int index = -1) const;
  int Line(const google::protobuf::FieldDescriptor& field,
           int index = -1) const;

  // Returns the message in a field. REQUIRES: it is set.
  ConfigNode Child(const google::protobuf::FieldDescriptor& field,
                   int index = -1) const;
  ConfigNode Child(absl::string_view field, int index = -1) const;

 private:
  const google::protobuf::FieldDescriptor& Field(absl::string_view name) const;

  const google::protobuf::Message* message_;
  const InfoTree* places_;  // null: unknown
};

// Returns the name of a value; its number where it has none, as JSON may.
template <typename Enum>
std::string EnumName(Enum value) {
  const google::protobuf::EnumValueDescriptor* const found =
      google::protobuf::GetEnumDescriptor<Enum>()->FindValueByNumber(value);
  return found == nullptr ? std::to_string(value) : found->name();
}

// Adds a diagnostic for each field that is set and that Ferry does not honor.
void FindUnsupportedFields(const ConfigNode& config,
                           ConfigDiagnostics& diagnostics);

}  // namespace ferry

#endif  // FERRY_MODELS_CONFIG_CONFIG_DIAGNOSTICS_H_

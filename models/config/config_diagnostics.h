// ConfigDiagnostics collects everything wrong with one config, with places, so
// that it is refused in one message; ConfigNode knows where fields stand.
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

// Where something stands in a config. Lines and columns count from 1; 0 and ""
// where they say nothing.
struct Place {
  int line = 0;
  int column = 0;
  // "input[1].dims[0]": of an element of a list, and where no line is known.
  std::string path = {};
};

class ConfigDiagnostics {
 public:
  explicit ConfigDiagnostics(absl::string_view source) : source_(source) {}

  // Keeps the first 50, each as PrintableText().
  void Add(const Place& place, const std::string& text);
  bool keeps_more() const;

  // Keeps what is no error but has no effect here; the same bounds.
  void Note(const std::string& text);
  std::vector<std::string> TakeNotes() { return std::move(notes_); }

  bool empty() const { return diagnostics_.empty(); }

  // Returns OK, or INVALID_ARGUMENT with one line a diagnostic, in line order.
  absl::Status ToStatus() const;

 private:
  const std::string source_;
  std::vector<std::pair<Place, std::string>> diagnostics_;
  std::vector<std::string> notes_;
  size_t untold_ = 0;
};

// A message and where its fields stand in the text. Borrows both.
class ConfigNode {
 public:
  using InfoTree = google::protobuf::TextFormat::ParseInfoTree;

  // `places` is null where the message was not read from a text. `path` is
  // that of the message, "" or with a '.' at its end.
  ConfigNode(const google::protobuf::Message& message, const InfoTree* places,
             std::string path = "")
      : message_(&message), places_(places), path_(std::move(path)) {}

  const google::protobuf::Message& message() const { return *message_; }

  // Returns where a field stands; no line where the text lacks it. `index`
  // counts the values of a repeated field.
  Place Line(absl::string_view field, int index = -1) const;
  Place Line(const google::protobuf::FieldDescriptor& field,
             int index = -1) const;

  // Returns the message in a field. REQUIRES: it is set.
  ConfigNode Child(const google::protobuf::FieldDescriptor& field,
                   int index = -1) const;
  ConfigNode Child(absl::string_view field, int index = -1) const;

 private:
  const google::protobuf::FieldDescriptor& Field(absl::string_view name) const;
  std::string PathOf(const google::protobuf::FieldDescriptor& field,
                     int index) const;

  const google::protobuf::Message* message_;
  const InfoTree* places_;  // null: unknown
  std::string path_;
};

// Returns the name of a value; its number where it has none, as JSON may.
template <typename Enum>
std::string EnumName(Enum value) {
  const google::protobuf::EnumValueDescriptor* const found =
      google::protobuf::GetEnumDescriptor<Enum>()->FindValueByNumber(value);
  return found == nullptr ? std::to_string(value) : found->name();
}

// Adds a diagnostic for each field that is set and that Ferry does not honor,
// a note for each that has no effect here. A message that asks for nothing is
// neither.
void FindUnsupportedFields(const ConfigNode& config,
                           ConfigDiagnostics& diagnostics);

}  // namespace ferry

#endif  // FERRY_MODELS_CONFIG_CONFIG_DIAGNOSTICS_H_

// Implements ConfigDiagnostics, and advises on fields that are not honored.
#include "models/config/config_diagnostics.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "base/check.h"
#include "base/printable_text.h"

namespace ferry {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// More are not read, and a config that has more is none.
constexpr size_t kMaxDiagnostics = 50;
constexpr size_t kMaxDiagnosticBytes = 1000;

// Fields that are honored. What stands in none of these is refused.
constexpr absl::string_view kHonored[] = {
    "name",
    "platform",
    "backend",
    "max_batch_size",
    "default_model_filename",
    "version_policy",
    "version_policy.latest",
    "version_policy.latest.num_versions",
    "version_policy.all",
    "version_policy.specific",
    "version_policy.specific.versions",
    "input",
    "input.name",
    "input.data_type",
    "input.dims",
    "input.optional",
    "input.format",  // says how clients read dims
    "input.reshape",
    "input.reshape.shape",
    "output",
    "output.name",
    "output.data_type",
    "output.dims",
    "output.reshape",
    "output.reshape.shape",
    "output.label_filename",
    "dynamic_batching",
    "dynamic_batching.max_queue_delay_microseconds",
    "dynamic_batching.preferred_batch_size",
    "dynamic_batching.preserve_ordering",
    "dynamic_batching.priority_levels",
    "dynamic_batching.default_priority_level",
    "dynamic_batching.default_queue_policy",
    "dynamic_batching.default_queue_policy.timeout_action",
    "dynamic_batching.default_queue_policy.default_timeout_microseconds",
    "dynamic_batching.default_queue_policy.allow_timeout_override",
    "dynamic_batching.default_queue_policy.max_queue_size",
    "dynamic_batching.priority_queue_policy",
    "instance_group",
    "instance_group.name",
    "instance_group.count",
    "instance_group.kind",
    "parameters",
    "model_warmup",
    "model_warmup.name",
    "model_warmup.batch_size",
    "model_warmup.inputs",
    "model_warmup.count",
};

struct Advice {
  absl::string_view field;
  absl::string_view text;
};
constexpr Advice kAdvice[] = {
    {"ensemble_scheduling",
     "serve each step as a model of its own and call one after the other"},
    {"sequence_batching",
     "remove it; requests are independent of each other here, so send the "
     "state along with each and return it as an output"},
    {"input.allow_ragged_batch",
     "remove it; rows of one batch have one shape; parameter "
     "'ferry.pad.<input>' pads them"},
    {"batch_input", "remove it; send what it computes as an input"},
    {"batch_output", "remove it; return what it scatters as an output"},
    {"instance_group.gpus", "remove it; one process serves one device"},
    {"instance_group.rate_limiter", "remove it"},
    {"optimization", "remove it; graphs are frozen and fused by default"},
    {"response_cache", "remove it; every request is computed"},
    {"model_operations",
     "remove it; --op-library opens a library of custom operators"},
    {"model_repository_agents",
     "remove it; digests of a model's files stand in MANIFEST.sha256 beside "
     "them"},
    {"cc_model_filenames",
     "remove it; default_model_filename names the model's file"},
    {"model_transaction_policy",
     "remove it; a request has one response: return all of it at once, and for "
     "generative decoding use vLLM's or TensorRT-LLM's own server"},
};

// Messages that ask for nothing where no field of theirs is set.
constexpr absl::string_view kAskNothingEmpty[] = {
    "model_transaction_policy", "optimization", "response_cache"};

bool Contains(absl::Span<const absl::string_view> paths,
              absl::string_view path) {
  return std::find(paths.begin(), paths.end(), path) != paths.end();
}

bool IsEmpty(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  return fields.empty();
}

absl::string_view AdviceFor(absl::string_view path) {
  for (const Advice& advice : kAdvice) {
    if (advice.field == path) {
      return advice.text;
    }
  }
  return "remove it";
}

void FindIn(const ConfigNode& node, const std::string& prefix,
            ConfigDiagnostics& diagnostics);

void FindInField(const ConfigNode& node, const FieldDescriptor& field,
                 const std::string& path, ConfigDiagnostics& diagnostics) {
  if (Contains(kAskNothingEmpty, path) &&
      IsEmpty(node.Child(field).message())) {
    return;
  }
  if (!Contains(kHonored, path)) {
    diagnostics.Add(
        node.Line(field, field.is_repeated() ? 0 : -1),
        absl::StrCat("field '", path, "' is not supported: ", AdviceFor(path)));
    return;
  }
  // Parameters are free text, read elsewhere.
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field.is_map()) {
    return;
  }
  if (!field.is_repeated()) {
    return FindIn(node.Child(field), path + ".", diagnostics);
  }
  const Message& message = node.message();
  const int count = message.GetReflection()->FieldSize(message, &field);
  for (int i = 0; i < count; ++i) {
    FindIn(node.Child(field, i), path + ".", diagnostics);
  }
}

void FindIn(const ConfigNode& node, const std::string& prefix,
            ConfigDiagnostics& diagnostics) {
  std::vector<const FieldDescriptor*> fields;
  node.message().GetReflection()->ListFields(node.message(), &fields);
  for (const FieldDescriptor* field : fields) {
    FindInField(node, *field, prefix + field->name(), diagnostics);
  }
}

}  // namespace

void ConfigDiagnostics::Add(int line, const std::string& text) {
  if (diagnostics_.size() >= kMaxDiagnostics) {
    ++untold_;
    return;
  }
  diagnostics_.emplace_back(line, PrintableText(text, kMaxDiagnosticBytes));
}

absl::Status ConfigDiagnostics::ToStatus() const {
  if (diagnostics_.empty()) {
    return absl::OkStatus();
  }
  auto sorted = diagnostics_;
  std::stable_sort(
      sorted.begin(), sorted.end(),
      [](const auto& a, const auto& b) { return a.first < b.first; });
  if (untold_ > 0) {
    sorted.emplace_back(0, absl::StrCat("and ", untold_, " more"));
  }
  return absl::InvalidArgumentError(absl::StrJoin(
      sorted, "\n", [this](std::string* out, const auto& diagnostic) {
        absl::StrAppend(out, source_, ":");
        if (diagnostic.first > 0) {
          absl::StrAppend(out, diagnostic.first, ":");
        }
        absl::StrAppend(out, " ", diagnostic.second);
      }));
}

const FieldDescriptor& ConfigNode::Field(absl::string_view name) const {
  const FieldDescriptor* field =
      message_->GetDescriptor()->FindFieldByName(std::string(name));
  Check(field != nullptr, "the message has the field");
  return *field;
}

int ConfigNode::Line(absl::string_view field, int index) const {
  return Line(Field(field), index);
}

int ConfigNode::Line(const FieldDescriptor& field, int index) const {
  return places_ == nullptr ? 0 : places_->GetLocation(&field, index).line + 1;
}

ConfigNode ConfigNode::Child(absl::string_view field, int index) const {
  return Child(Field(field), index);
}

ConfigNode ConfigNode::Child(const FieldDescriptor& field, int index) const {
  const auto* reflection = message_->GetReflection();
  const Message& child =
      field.is_repeated()
          ? reflection->GetRepeatedMessage(*message_, &field, index)
          : reflection->GetMessage(*message_, &field);
  return ConfigNode(child, places_ == nullptr
                               ? nullptr
                               : places_->GetTreeForNested(&field, index));
}

void FindUnsupportedFields(const ConfigNode& config,
                           ConfigDiagnostics& diagnostics) {
  FindIn(config, "", diagnostics);
}

}  // namespace ferry

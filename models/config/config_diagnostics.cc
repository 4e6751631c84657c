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
    "instance_group.gpus",
    "optimization",
    "optimization.graph",
    "optimization.graph.level",
    "optimization.cuda",
    "optimization.cuda.graphs",
    // It is so anyway: on a device what is copied is pinned, rows are gathered
    // once, and the next batch is prepared while one is computed.
    "optimization.input_pinned_memory",
    "optimization.input_pinned_memory.enable",
    "optimization.output_pinned_memory",
    "optimization.output_pinned_memory.enable",
    "optimization.gather_kernel_buffer_threshold",
    "optimization.eager_batching",
    "runtime",
    "parameters",
    "model_warmup",
    "model_warmup.name",
    "model_warmup.batch_size",
    "model_warmup.inputs",
    "model_warmup.count",
};

// Fields that change no answer and no bound, here or in Triton without further
// flags: they are kept, and a note says that they have no effect.
constexpr absl::string_view kWithoutEffect[] = {
    "metric_tags",
    "model_metrics",
    "instance_group.profile",
    "instance_group.host_policy",
    "instance_group.rate_limiter",
    "optimization.cuda.busy_wait_events",
    "optimization.cuda.graph_spec",
    "optimization.cuda.output_copy_stream",
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
    {"instance_group.secondary_devices",
     "remove it; one process serves one device"},
    {"instance_group.passive", "remove it; each instance takes requests"},
    {"optimization.priority",
     "remove it; parameter 'ferry.weight' shares the device between models"},
    {"optimization.execution_accelerators",
     "remove it; LibTorch computes, graphs are frozen and fused by default, "
     "and a .pt2 file is compiled before"},
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

bool Contains(absl::Span<const absl::string_view> paths,
              absl::string_view path) {
  return std::find(paths.begin(), paths.end(), path) != paths.end();
}

// Whether no field is set in the message or in those in it: what is left are
// defaults, which need not be said.
bool IsEmpty(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  return std::all_of(
      fields.begin(), fields.end(), [&](const FieldDescriptor* field) {
        return field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
               !field->is_repeated() &&
               IsEmpty(message.GetReflection()->GetMessage(message, field));
      });
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
  const bool is_message = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  // One of a choice says something by being there.
  if (is_message && !field.is_repeated() &&
      field.real_containing_oneof() == nullptr &&
      IsEmpty(node.Child(field).message())) {
    return;
  }
  if (Contains(kWithoutEffect, path)) {
    diagnostics.Note(absl::StrCat("field '", path, "'"));
    return;
  }
  if (!Contains(kHonored, path)) {
    diagnostics.Add(
        node.Line(field, field.is_repeated() ? 0 : -1),
        absl::StrCat("field '", path, "' is not supported: ", AdviceFor(path)));
    return;
  }
  // Parameters are free text, read elsewhere.
  if (!is_message || field.is_map()) {
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

bool ConfigDiagnostics::keeps_more() const {
  return diagnostics_.size() < kMaxDiagnostics;
}

void ConfigDiagnostics::Add(const Place& place, const std::string& text) {
  if (!keeps_more()) {
    ++untold_;
    return;
  }
  diagnostics_.emplace_back(place, PrintableText(text, kMaxDiagnosticBytes));
}

void ConfigDiagnostics::Note(const std::string& text) {
  std::string note = PrintableText(text, kMaxDiagnosticBytes);
  if (notes_.size() < kMaxDiagnostics &&
      std::find(notes_.begin(), notes_.end(), note) == notes_.end()) {
    notes_.push_back(std::move(note));
  }
}

absl::Status ConfigDiagnostics::ToStatus() const {
  if (diagnostics_.empty()) {
    return absl::OkStatus();
  }
  auto sorted = diagnostics_;
  std::stable_sort(
      sorted.begin(), sorted.end(),
      [](const auto& a, const auto& b) { return a.first.line < b.first.line; });
  if (untold_ > 0) {
    sorted.emplace_back(Place(), absl::StrCat("and ", untold_, " more"));
  }
  return absl::InvalidArgumentError(absl::StrJoin(
      sorted, "\n", [this](std::string* out, const auto& diagnostic) {
        const auto& [place, text] = diagnostic;
        absl::StrAppend(out, source_, ":");
        if (place.line > 0) {
          absl::StrAppend(out, place.line, ":");
        }
        if (place.line > 0 && place.column > 0) {
          absl::StrAppend(out, place.column, ":");
        }
        absl::StrAppend(out, place.path.empty() ? "" : " ", place.path,
                        place.path.empty() ? "" : ":", " ", text);
      }));
}

const FieldDescriptor& ConfigNode::Field(absl::string_view name) const {
  const FieldDescriptor* field =
      message_->GetDescriptor()->FindFieldByName(std::string(name));
  Check(field != nullptr, "the message has the field");
  return *field;
}

std::string ConfigNode::PathOf(const FieldDescriptor& field, int index) const {
  const bool is_element = field.is_repeated() && !field.is_map() && index >= 0;
  return absl::StrCat(path_, field.name(),
                      is_element ? absl::StrCat("[", index, "]") : "");
}

Place ConfigNode::Line(absl::string_view field, int index) const {
  return Line(Field(field), index);
}

Place ConfigNode::Line(const FieldDescriptor& field, int index) const {
  Place place;
  // The parser notes of a list in brackets only where the whole of it begins.
  for (int at = index; places_ != nullptr && place.line == 0; --at) {
    place.line = places_->GetLocation(&field, at).line + 1;
    if (at <= 0) {
      break;
    }
  }
  const bool is_element =
      index >= 0 && field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE;
  if (is_element || place.line == 0) {
    place.path = PathOf(field, index);
  }
  return place;
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
  return ConfigNode(
      child,
      places_ == nullptr ? nullptr : places_->GetTreeForNested(&field, index),
      absl::StrCat(PathOf(field, index), "."));
}

void FindUnsupportedFields(const ConfigNode& config,
                           ConfigDiagnostics& diagnostics) {
  FindIn(config, "", diagnostics);
}

}  // namespace ferry

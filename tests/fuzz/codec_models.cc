// Implements the models that fuzzed requests are for: their specs.
#include "tests/fuzz/codec_models.h"

#include <utility>

namespace ferry {
namespace {

using Inputs = std::vector<TensorSpec>;

CodecModel Model(const char* name, int32_t max_batch_size, Inputs inputs) {
  static uint64_t serial = 0;
  CodecModel model{.name = name,
                   .spec = {.inputs = inputs,
                            .outputs = inputs,
                            .max_batch_size = max_batch_size},
                   .serial = ++serial,
                   .labels = {{"cat", "", "dog"}},
                   .echo = nullptr};
  if (absl::StatusOr<std::unique_ptr<EchoModel>> echo =
          EchoModel::Create(model.spec);
      echo.ok()) {
    model.echo = *std::move(echo);
  }
  return model;
}

// One input of each type, named as the type.
Inputs OneOfEachType() {
  Inputs inputs;
  for (const DataType type :
       {DataType::kBool, DataType::kUint8, DataType::kUint16, DataType::kUint32,
        DataType::kUint64, DataType::kInt8, DataType::kInt16, DataType::kInt32,
        DataType::kInt64, DataType::kFp16, DataType::kFp32, DataType::kFp64,
        DataType::kBf16}) {
    inputs.push_back({DataTypeName(type), type, {2}});
  }
  return inputs;
}

const std::vector<CodecModel>& Models() {
  static const auto* const models = [] {
    auto* const list = new std::vector<CodecModel>();
    list->push_back(Model(
        "pair", 4,
        {{"a", DataType::kFp32, {3}}, {"b", DataType::kInt64, {kAnySize}}}));
    list->push_back(Model("types", 4, OneOfEachType()));
    list->push_back(Model("image", 0,
                          {{"pixels", DataType::kUint8, {-1, -1, 3}},
                           {"mask", DataType::kBool, {-1, -1}}}));
    list->push_back(Model("scalar", 8, {{"x", DataType::kFp64, {}}}));
    list->push_back(
        Model("text", 4, {{"words", DataType::kBytes, {kAnySize}}}));
    list->push_back(Model("narrow", 8,
                          {{"i8", DataType::kInt8, {kAnySize}},
                           {"i16", DataType::kInt16, {2, kAnySize}},
                           {"u8", DataType::kUint8, {1}},
                           {"u16", DataType::kUint16, {kAnySize, 1}}}));
    list->push_back(Model("optional", 4,
                          {{.name = "x", .type = DataType::kInt32, .dims = {2}},
                           {.name = "y",
                            .type = DataType::kBytes,
                            .dims = {},
                            .is_optional = true},
                           {.name = "z",
                            .type = DataType::kFp32,
                            .dims = {kAnySize},
                            .is_optional = true}}));
    TensorSpec ids = {"ids", DataType::kInt16, {2, kAnySize}};
    ids.pads = {4, 8};
    TensorSpec mask = {"mask", DataType::kFp16, {kAnySize}, true};
    mask.pads = ids.pads;
    mask.follows = 0;
    mask.is_mask = true;
    list->push_back(Model("padded", 4, {ids, mask}));
    return list;
  }();
  return *models;
}

}  // namespace

const CodecModel& CodecModelNamed(const std::string& name) {
  for (const CodecModel& model : Models()) {
    if (model.name == name) {
      return model;
    }
  }
  return Models().front();
}

}  // namespace ferry

// Tests TorchScript models that take and give strings, and arguments that
// requests leave out, through an instance. The files are made here.
#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>

#include <deque>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/torch/torch_entry.h"
#include "tensor/bytes_elements.h"
#include "tests/models/temp_folder.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const TensorSpec kText = {"text", DataType::kBytes, {1}};
const TensorSpec kLength = {"length", DataType::kInt64, {1}};

// A request of one row; each input the bytes of its elements, or none.
struct RowRequest {
  RowRequest(const ModelSpec& spec, std::vector<std::string> its_inputs)
      : bytes(std::move(its_inputs)), segments(bytes.size()) {
    for (size_t i = 0; i < bytes.size(); ++i) {
      segments[i] = {reinterpret_cast<const std::byte*>(bytes[i].data()),
                     bytes[i].size()};
      views.push_back({.dims = spec.inputs[i].dims,
                       .segments = {&segments[i], 1},
                       .is_bytes = spec.inputs[i].type == DataType::kBytes,
                       .is_given = !bytes[i].empty()});
    }
    request.inputs = views;
  }

  const std::vector<std::string> bytes;
  std::vector<ferry::ByteSegment> segments;
  std::vector<TensorView> views;
  InferRequest request;
};

std::string Element(const std::string& text) {
  std::string element;
  AppendBytesElement(text, element);
  return element;
}

std::string Number(float value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

class TorchStringsTest : public testing::Test {
 protected:
  absl::Status Load(const std::string& source, std::vector<TensorSpec> inputs,
                    std::vector<TensorSpec> outputs) {
    torch::jit::Module module("m");
    module.define(source);
    const std::string path = folder_.path("model.pt");
    module.save(path);
    options_.name = "m";
    options_.spec = {std::move(inputs), std::move(outputs), 4};
    CpuModelsOrStatus models = absl::InternalError("not loaded");
    LoadReport report;
    FerryLoadTorchModels(options_, path, report, models);
    if (!models.ok()) {
      return models.status();
    }
    model_ = std::move(models->front());
    return model_->WarmUp();
  }

  // Runs one batch of rows; returns what the rows of output 0 are.
  std::vector<std::string> Run(
      const std::vector<std::vector<std::string>>& rows) {
    std::deque<RowRequest> requests;
    Batch batch(8, 8);
    for (const std::vector<std::string>& row : rows) {
      requests.emplace_back(options_.spec, row);
      batch.Add(requests.back().request);
    }
    batch.Close(TimePoint(), CloseReason::kFull, /*sequence=*/0);
    Outcome outcome = model_->Gather(batch);
    OutputRef output;
    if (outcome.ok()) {
      outcome = model_->Compute(batch, output);
    }
    if (!outcome.ok()) {
      return {std::string(outcome.text)};
    }
    std::vector<std::string> given;
    for (int32_t i = 0; i < batch.rows(); ++i) {
      const ferry::ByteSegment row = output->tensors()[0].Rows(i, 1);
      given.emplace_back(reinterpret_cast<const char*>(row.data), row.size);
    }
    return given;
  }

  const TempFolder folder_;
  ModelOptions options_;
  std::unique_ptr<CpuModel> model_;
};

TEST_F(TorchStringsTest, StringsComeInAndGoOut) {
  const absl::Status status = Load(
      "def forward(self, text: List[str]) -> List[str]:\n"
      "  return [t.upper() + '!' for t in text]\n",
      {kText}, {{"loud", DataType::kBytes, {1}}});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(Run({{Element("ab")}, {Element("")}, {Element("c")}}),
              ElementsAre(Element("AB!"), Element("!"), Element("C!")));
}

TEST_F(TorchStringsTest, StringsBecomeNumbers) {
  options_.buckets = {4};
  const absl::Status status = Load(
      "def forward(self, text: List[str]):\n"
      "  return torch.tensor([len(t) for t in text]).view([-1, 1])\n",
      {kText}, {kLength});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(Run({{Element("abc")}, {Element(std::string(300, 'x'))}}),
              ElementsAre(std::string("\3\0\0\0\0\0\0\0", 8),
                          std::string("\x2c\1\0\0\0\0\0\0", 8)))
      << "padded to four with empty strings";
}

TEST_F(TorchStringsTest, RowsMayHoldSeveralStrings) {
  const absl::Status status = Load(
      "def forward(self, text: List[str]) -> Dict[str, List[str]]:\n"
      "  y: List[str] = []\n"
      "  for i in range(len(text) * 3):\n"
      "    y.append(text[i // 3])\n"
      "  return {'y': y}\n",
      {{"text", DataType::kBytes, {2}}},
      {{"y", DataType::kBytes, {kAnySize, 2}}});
  ASSERT_TRUE(status.ok()) << status;
  const std::string a = Element("a"), b = Element("bb");
  EXPECT_THAT(Run({{a + b}, {b + b}}),
              ElementsAre(a + a + a + b + b + b, b + b + b + b + b + b));
}

TEST_F(TorchStringsTest, WrongNumberOfStringsIsRefused) {
  const absl::Status status = Load(
      "def forward(self, text: List[str]) -> List[str]:\n"
      "  return text + ['one more']\n",
      {kText}, {{"y", DataType::kBytes, {1}}});
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("output 'y': expected 1 strings for 1 rows, the model "
                        "gives 2"));
}

TEST_F(TorchStringsTest, TypesThatForwardDoesNotTakeAreRefused) {
  const std::string takes_strings =
      "def forward(self, text: List[str]):\n"
      "  return torch.tensor([len(t) for t in text]).view([-1, 1])\n";
  EXPECT_THAT(std::string(Load(takes_strings, {{"text", DataType::kInt64, {1}}},
                               {kLength})
                              .message()),
              HasSubstr("input 'text': the config has INT64, forward() has "
                        "'text: List[str]'"));
  EXPECT_THAT(std::string(Load("def forward(self, text):\n  return text\n",
                               {kText}, {kText})
                              .message()),
              HasSubstr("input 'text': the config has BYTES, forward() has "
                        "'text: Tensor'"));
  EXPECT_THAT(
      std::string(Load(takes_strings, {kText}, {{"y", DataType::kBytes, {1}}})
                      .message()),
      HasSubstr("output 'y': expected a list of strings, the model gives "
                "Tensor"));
}

TEST_F(TorchStringsTest, OptionalInputIsNoneOrItsDefault) {
  const TensorSpec x = {"x", DataType::kFp32, {1}};
  TensorSpec bias = {"bias", DataType::kFp32, {1}};
  bias.is_optional = true;
  const absl::Status status = Load(
      "def forward(self, x, bias: Optional[Tensor]):\n"
      "  if bias is not None:\n"
      "    return x + bias\n"
      "  return x * 2\n",
      {x, bias}, {{"y", DataType::kFp32, {1}}});
  ASSERT_TRUE(status.ok()) << status;
  for (int round = 0; round < 3; ++round) {
    EXPECT_THAT(Run({{Number(2), Number(8)}, {Number(3), Number(0.5)}}),
                ElementsAre(Number(10), Number(3.5)));
    EXPECT_THAT(Run({{Number(2), ""}, {Number(3), ""}}),
                ElementsAre(Number(4), Number(6)));
  }
}

TEST_F(TorchStringsTest, OptionalInputWithoutADefaultIsRefused) {
  TensorSpec x = {"x", DataType::kFp32, {1}};
  x.is_optional = true;
  EXPECT_THAT(std::string(Load("def forward(self, x):\n  return x\n", {x},
                               {{"y", DataType::kFp32, {1}}})
                              .message()),
              HasSubstr("input 'x': expected an argument with a default or of "
                        "type Optional[...]"));
}

TEST_F(TorchStringsTest, ArgumentsWithDefaultsMayBePassedOver) {
  const absl::Status status = Load(
      "def forward(self, x, scale: float = 3.0, bias: Optional[Tensor] = None):"
      "\n"
      "  y = x * scale\n"
      "  return y if bias is None else y + bias\n",
      {{"x", DataType::kFp32, {1}}, {"bias", DataType::kFp32, {1}}},
      {{"y", DataType::kFp32, {1}}});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(Run({{Number(2), Number(1)}}), ElementsAre(Number(7)));
}

TEST_F(TorchStringsTest, ArgumentWithoutADefaultNeedsAnInput) {
  EXPECT_THAT(
      std::string(
          Load("def forward(self, x, y, z: int = 1):\n  return x + y\n",
               {{"x", DataType::kFp32, {1}}, {"z", DataType::kFp32, {1}}},
               {{"y", DataType::kFp32, {1}}})
              .message()),
      HasSubstr("inputs: expected one for 'y', which has no default"));
}

}  // namespace
}  // namespace ferry

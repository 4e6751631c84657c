// Tests rows and shapes of requests, by a config and by metadata alone.
#include "bench/client/request_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace ferry::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Shape = std::vector<int64_t>;

RequestPoolOptions Of(int32_t rows,
                      const std::map<std::string, Shape>& shapes = {}) {
  RequestPoolOptions options;
  options.rows = rows;
  options.shapes = shapes;
  return options;
}

ModelDescription WithInputs(const std::vector<Shape>& shapes) {
  ModelDescription description;
  description.metadata.set_name(std::string("m"));
  for (const Shape& shape : shapes) {
    auto& input = *description.metadata.add_inputs();
    input.set_name(std::string(
        1, static_cast<char>('a' + description.metadata.inputs_size() - 1)));
    input.set_datatype(std::string("FP32"));
    for (const int64_t dim : shape) {
      input.add_shape(dim);
    }
  }
  return description;
}

// The shapes of a request, or why there is none.
absl::StatusOr<std::vector<Shape>> ShapesOf(const ModelDescription& description,
                                            const RequestPoolOptions& options) {
  const auto model = ModelOfRequests(description, options);
  if (!model.ok()) {
    return model.status();
  }
  const auto request =
      MakeRequest(model->metadata, model->config, model->options, 1);
  if (!request.ok()) {
    return request.status();
  }
  std::vector<Shape> shapes;
  for (const auto& input : request->inputs()) {
    shapes.emplace_back(input.shape().begin(), input.shape().end());
  }
  return shapes;
}

std::string ErrorOf(const ModelDescription& description,
                    const RequestPoolOptions& options) {
  return std::string(ShapesOf(description, options).status().message());
}

TEST(RequestModelTest, ConfigSaysWhetherTheFirstDimensionIsTheBatch) {
  ModelDescription description = WithInputs({{-1, 4}});
  description.has_config = true;
  EXPECT_THAT(ErrorOf(description, Of(3)), HasSubstr("[-1,4]"))
      << "max_batch_size 0: no batch dimension, and a -1 without a size";
  description.config.set_max_batch_size(8);
  EXPECT_THAT(*ShapesOf(description, Of(3)), ElementsAre(Shape{3, 4}));
}

TEST(RequestModelTest, WithoutConfigTheBatchIsTheMinusOneThatLeadsAll) {
  const ModelDescription description = WithInputs({{-1, 4}, {-1, -1}});
  EXPECT_THAT(*ShapesOf(description, Of(3, {{"b", {5}}})),
              ElementsAre(Shape{3, 4}, Shape{3, 5}));
  EXPECT_THAT(ErrorOf(description, Of(3)), HasSubstr("--shape b:"));
  EXPECT_TRUE(ModelOfRequests(description, {})->config.max_batch_size() > 0)
      << "so --data is of rows";
}

TEST(RequestModelTest, FixedShapesAreWholeOnes) {
  const ModelDescription description = WithInputs({{8, 4}});
  for (const int32_t rows : {1, 8}) {
    EXPECT_THAT(*ShapesOf(description, Of(rows)), ElementsAre(Shape{8, 4}));
  }
  EXPECT_THAT(ErrorOf(description, Of(2)),
              HasSubstr("--rows: expected 1 or 8, as input 'a' of model 'm' "
                        "has shape [8,4]"));
  EXPECT_THAT(ErrorOf(WithInputs({{}}), Of(2)),
              HasSubstr("--rows: expected 1, as input 'a'"));
}

TEST(RequestModelTest, RowsReplaceWhatLeadsSomeAndLeaveTheOthers) {
  const ModelDescription description = WithInputs({{-1, -1}, {1}});
  EXPECT_THAT(*ShapesOf(description, Of(3, {{"a", {7}}})),
              ElementsAre(Shape{3, 7}, Shape{1}));
  EXPECT_THAT(*ShapesOf(WithInputs({{-1, 4}, {}}), Of(2)),
              ElementsAre(Shape{2, 4}, Shape{}));
}

TEST(RequestModelTest, ShapeOfAllSizesIsTheWhole) {
  const ModelDescription description = WithInputs({{-1}});
  const RequestPoolOptions whole = Of(1, {{"a", {128}}});
  EXPECT_THAT(*ShapesOf(description, whole), ElementsAre(Shape{128}));
  EXPECT_THAT(ErrorOf(description, Of(2, whole.shapes)),
              HasSubstr("expected 1 or 128"));
  EXPECT_THAT(ErrorOf(WithInputs({{-1, 4}}), Of(1, {{"a", {2, 5}}})),
              HasSubstr("expected [-1,4], got [2,5]"));
}

TEST(RequestModelTest, RefusesMetadataWithoutInputs) {
  EXPECT_THAT(ErrorOf(WithInputs({}), {}), HasSubstr("found none"));
}

}  // namespace
}  // namespace ferry::bench

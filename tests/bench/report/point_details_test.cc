// What a document says of server, histogram and device, and what it leaves out.
#include "bench/report/point_details.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace ferry::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

std::string Document(const std::string& point) {
  return absl::StrCat(R"({"format":"ferry-bench/1","runs":[{"points":[)", point,
                      "]}]}");
}

PointDetails Read(const std::string& point) {
  const auto details = ReadDetails(Document(point));
  EXPECT_TRUE(details.ok()) << details.status();
  return details.ok() ? details->at(0).at(0) : PointDetails();
}

TEST(PointDetailsTest, ReadsEveryPart) {
  const PointDetails details = Read(R"({
      "server": {"queue_us": 120.5, "compute_input_us": 3,
                 "compute_infer_us": 900, "compute_output_us": 2,
                 "batches": {"64": 100, "8": 20},
                 "close_reasons": {"full": 100, "max_wait": 3}},
      "histogram": {"count": 3, "sum_ns": 9, "max_ns": 7,
                    "buckets": [[1000, 1], [7000, 2]]},
      "device": {"name": "L4", "utilization": 0.43,
                 "memory_used_bytes": 1048576, "power_w": 70}})");
  EXPECT_TRUE(details.has_times());
  EXPECT_EQ(details.queue_us, 120.5);
  EXPECT_EQ(details.compute_output_us, 2);
  EXPECT_THAT(details.batches, ElementsAre(Pair(8, 20), Pair(64, 100)))
      << "by rows, not by text";
  EXPECT_THAT(details.close_reasons,
              ElementsAre(Pair("full", 100), Pair("max_wait", 3)));
  ASSERT_EQ(details.buckets.size(), 2U);
  EXPECT_EQ(details.buckets[1].highest_ns, 7000U);
  EXPECT_EQ(details.buckets[1].count, 2U);
  EXPECT_TRUE(details.has_device());
  EXPECT_EQ(details.device, "L4");
  EXPECT_EQ(details.power_w, 70);
}

TEST(PointDetailsTest, AbsentAndNullAreTheSame) {
  for (const char* point :
       {"{}", R"({"server": null, "histogram": null, "device": null})",
        R"({"server": {"queue_us": null}, "device": {"name": null}})"}) {
    const PointDetails details = Read(point);
    EXPECT_FALSE(details.has_times()) << point;
    EXPECT_FALSE(details.has_device()) << point;
    EXPECT_THAT(details.batches, IsEmpty()) << point;
    EXPECT_THAT(details.buckets, IsEmpty()) << point;
  }
}

TEST(PointDetailsTest, SaysWhatIsWrong) {
  EXPECT_THAT(ReadDetails(Document(R"({"server": {"batches": {"full": 1}}})"))
                  .status()
                  .message(),
              HasSubstr("expected rows of a batch as keys, got \"full\""));
  EXPECT_THAT(
      ReadDetails(Document(R"({"histogram": {"buckets": [[2, 1], [1, 1]]}})"))
          .status()
          .message(),
      HasSubstr("expected them ascending, got 1 after 2"));
  EXPECT_THAT(ReadDetails(Document(R"({"server": {"queue_us": "long"}})"))
                  .status()
                  .message(),
              HasSubstr("details of a point"));
  EXPECT_FALSE(ReadDetails("{").ok());
}

TEST(PointDetailsTest, QuantilesAreTheHighestOfTheirBucket) {
  const std::vector<LatencyBucket> buckets = {
      {1000, 50}, {2000, 0}, {3000, 49}, {9000, 1}};
  EXPECT_EQ(QuantileUs(buckets, 0.5), 1);
  EXPECT_EQ(QuantileUs(buckets, 0.51), 3);
  EXPECT_EQ(QuantileUs(buckets, 0.99), 3);
  EXPECT_EQ(QuantileUs(buckets, 1), 9);
  EXPECT_EQ(QuantileUs({}, 0.5), 0);
}

TEST(JoinJsonTest, KeepsWhatItDoesNotKnow) {
  const std::string joined =
      JoinJson({R"({"format":"ferry-bench/1","runs":[{"label":"a","new":1}]})",
                R"({"format":"ferry-bench/1","runs":[{"label":"b"}]})"});
  EXPECT_THAT(joined, HasSubstr("\"new\": 1"));
  EXPECT_LT(joined.find("\"a\""), joined.find("\"b\""));
}

}  // namespace
}  // namespace ferry::bench

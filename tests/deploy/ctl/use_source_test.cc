// Tests what pages and Prometheus' answers say that a device computed.
#include "deploy/ctl/use_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <ostream>

namespace ferry::plan {

bool operator==(const ComputeUse& one, const ComputeUse& other) {
  return one.model == other.model && one.client == other.client &&
         one.seconds == other.seconds;
}

void PrintTo(const ComputeUse& use, std::ostream* out) {
  *out << use.model << "/" << use.client << " " << use.seconds;
}

}  // namespace ferry::plan

namespace ferry::ctl {
namespace {

using plan::ComputeUse;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kPage[] = R"(# TYPE ferry_compute_busy_seconds_total counter
process_start_time_seconds 1000.5
ferry_device_info{uuid="MIG-1",profile="1g",name="H",parent_uuid="GPU-1"} 1
ferry_compute_busy_seconds_total{model="a",version="1",model_instance="0"} 2
ferry_compute_busy_seconds_total{model="a",version="2",model_instance="0"} 3
ferry_compute_busy_seconds_total{model="a",version="2",model_instance="1"} 4
ferry_compute_busy_seconds_total{model="b",version="1",model_instance="0"} 0
ferry_client_compute_seconds_total{client="x",model="a"} 6
ferry_client_compute_seconds_total{client="y",model="a"} 0
ferry_client_compute_seconds_total{client="x",model="gone"} 0.5
ferry_client_compute_seconds_total{client="y",model="gone"} 0.25
)";

ComputeUse Use(const std::string& model, const std::string& client,
               double seconds) {
  return {.model = model, .client = client, .seconds = seconds};
}

SeriesSample Sample(const std::map<std::string, std::string>& labels,
                    double value) {
  return {.labels = labels, .value = value};
}

TEST(UseSourceTest, APageIsOfItsProcessTillNow) {
  const auto use = UseOfPage(kPage, absl::FromUnixSeconds(1060));
  ASSERT_TRUE(use.ok()) << use.status();
  EXPECT_EQ(use->end - use->begin, absl::Seconds(59.5));
  EXPECT_EQ(use->device, "MIG-1");
  EXPECT_EQ(use->shorter, "");
}

TEST(UseSourceTest, VersionsAndInstancesAreOneModel) {
  const auto use = UseOfPage(kPage, absl::FromUnixSeconds(1060));
  ASSERT_TRUE(use.ok()) << use.status();
  EXPECT_THAT(use->models, ElementsAre(Use("a", "", 9), Use("gone", "", 0.75)));
  EXPECT_THAT(use->clients, ElementsAre(Use("a", "x", 6), Use("gone", "x", 0.5),
                                        Use("gone", "y", 0.25)));
}

TEST(UseSourceTest, OfSeveralDevicesNoneIsNamed) {
  const auto use =
      UseOfPage(std::string(kPage) + "ferry_device_info{uuid=\"MIG-2\"} 1\n",
                absl::FromUnixSeconds(1060));
  ASSERT_TRUE(use.ok()) << use.status();
  EXPECT_EQ(use->device, "");
}

TEST(UseSourceTest, PagesThatAreNoneAreRefused) {
  const auto refusal = [](const std::string& page, int64_t now_s) {
    const auto use = UseOfPage(page, absl::FromUnixSeconds(now_s));
    EXPECT_TRUE(absl::IsFailedPrecondition(use.status()));
    return std::string(use.status().message());
  };
  EXPECT_THAT(refusal("up 1\n", 1060),
              HasSubstr("expected the metrics of a ferry-server"));
  EXPECT_EQ(refusal("ferry_instances 1\n", 1060),
            "expected process_start_time_seconds, got a page without");
  EXPECT_EQ(refusal(kPage, 1000),
            "expected a server that began before 1970-01-01T00:16:40Z, the "
            "time of this machine, got 1970-01-01T00:16:40Z; does one of the "
            "two clocks go wrong?");
}

TEST(UseSourceTest, NamesThatActOnATerminalAreEscaped) {
  const MeasuredUse use = UseOfSamples(
      {.models = {Sample({{"model", "m"}}, 3)},
       .clients = {Sample({{"model", "m"}, {"client", "a\x1b"}}, 1)},
       .devices = {Sample({{"uuid", "GPU-1\n"}}, 1)}},
      100'000, 3600);
  EXPECT_THAT(use.clients, ElementsAre(Use("m", "a\\x1b", 1)));
  EXPECT_EQ(use.device, "GPU-1\\x0a");
}

TEST(UseSourceTest, AWindowBeginsNoEarlierThanItsSeries) {
  const auto of = [](double begin) {
    return UseOfSamples({.models = {},
                         .clients = {},
                         .devices = {},
                         .begin = {Sample({}, begin)}},
                        100'000, 3600);
  };
  const MeasuredUse whole = of(96'400 + 300);
  EXPECT_EQ(whole.begin, absl::FromUnixSeconds(96'400));
  EXPECT_EQ(whole.end, absl::FromUnixSeconds(100'000));
  EXPECT_EQ(whole.shorter, "");
  EXPECT_THAT(whole.models, IsEmpty());
  const MeasuredUse part = of(98'000);
  EXPECT_EQ(part.begin, absl::FromUnixSeconds(98'000));
  EXPECT_EQ(part.shorter,
            "the series of the server begin at 1970-01-02T03:13:20Z, within "
            "the window: what was before is not charged");
  EXPECT_EQ(of(std::numeric_limits<double>::quiet_NaN()).begin,
            absl::FromUnixSeconds(96'400));
}

}  // namespace
}  // namespace ferry::ctl

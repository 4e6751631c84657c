// Tests which text a scraper is given, and OpenMetrics' own.
#include "server/metrics/open_metrics.h"

#include <gtest/gtest.h>

#include <string>

#include "server/metrics/metric_families.h"

namespace ferry {
namespace {

std::vector<Exemplar> NoExemplars(const std::string&, const std::string&) {
  return {};
}

TEST(OpenMetrics, ItIsGivenToWhatAsksForIt) {
  // Prometheus 2.42, and 3.0 with its default scrape_protocols.
  EXPECT_TRUE(PrefersOpenMetrics(
      "application/openmetrics-text;version=1.0.0,application/"
      "openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/"
      "*;q=0.1"));
  EXPECT_TRUE(PrefersOpenMetrics("application/openmetrics-text"));
  EXPECT_TRUE(PrefersOpenMetrics("Application/OpenMetrics-Text; Q=0.1"));
  EXPECT_FALSE(PrefersOpenMetrics(
      "text/plain;version=0.0.4,application/openmetrics-text;q=0.5"));
  EXPECT_FALSE(PrefersOpenMetrics("application/openmetrics-text;q=0"));
  EXPECT_FALSE(PrefersOpenMetrics("application/openmetrics-text;version=9"));
}

TEST(OpenMetrics, NothingAndNonsenseAskForNothing) {
  for (const char* accept :
       {"", "*/*", "text/html", ",,;;q=,=", "application/openmetrics-text;q=x",
        "application/openmetrics-text;q=-1", "application/openmetrics-textual",
        "application/openmetrics-text;q=nan"}) {
    EXPECT_FALSE(PrefersOpenMetrics(accept)) << accept;
  }
}

TEST(OpenMetrics, CountersGaugesAndTheirTextsAreWrittenAsItSays) {
  MetricFamilies families(Buckets::kCommon);
  families.AddCounter({"ferry_a_total", "What \"a\" is"},
                      {{"model", "m\"\\\n"}}, 3);
  families.AddGauge({"ferry_b", "B"}, {}, 0.25);
  families.AddCounter({"nv_c", "C"}, {}, 7);
  EXPECT_EQ(ToOpenMetricsText(families.Take(), NoExemplars),
            "# TYPE ferry_a counter\n"
            "# HELP ferry_a What \\\"a\\\" is\n"
            "ferry_a_total{model=\"m\\\"\\\\\\n\"} 3.0\n"
            "# TYPE ferry_b gauge\n"
            "# HELP ferry_b B\n"
            "ferry_b 0.25\n"
            "# TYPE nv_c unknown\n"
            "# HELP nv_c C\n"
            "nv_c 7.0\n"
            "# EOF\n");
}

TEST(OpenMetrics, BucketsHaveTheNewestExemplarThatLiesInThem) {
  DurationHistogram histogram;
  histogram.Record(3'000'000);
  MetricFamilies families(Buckets::kCommon);
  families.AddDurations({"ferry_request_seconds", "R"},
                        {{"model", "m"}, {"version", "1"}}, histogram);
  families.AddDurations({"ferry_queue_wait_seconds", "Q"},
                        {{"model", "m"}, {"version", "1"}}, histogram);
  const std::string text = ToOpenMetricsText(
      families.Take(),
      [](const std::string& model, const std::string& version) {
        EXPECT_EQ(model + version, "m1");
        return std::vector<Exemplar>{{"older", 0.004, 1000},
                                     {"newest", 0.003, 1000.25},
                                     {"alone", 2, 2}};
      });
  EXPECT_NE(text.find("version=\"1\",le=\"0.005\"} 1 # "
                      "{trace_id=\"newest\"} 0.003 1000.250\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("older"), std::string::npos);
  EXPECT_EQ(text.find("alone"), std::string::npos) << "its bucket has none";
  EXPECT_EQ(text.find('#', text.find("ferry_queue_wait_seconds_bucket")),
            text.find("# EOF"));
}

TEST(OpenMetrics, BoundsOfBucketsAreCanonicalAndEndWithInfinity) {
  std::vector<BatchSizeStatistics> by_rows((1 << 20) + 1);
  by_rows[1].batches.Add(2);
  by_rows[1 << 20].batches.Add(1);
  MetricFamilies families(Buckets::kCommon);
  families.AddRows({"ferry_rows", "R"}, {}, by_rows);
  const std::string text = ToOpenMetricsText(families.Take(), NoExemplars);
  EXPECT_NE(text.find("ferry_rows_bucket{le=\"1.0\"} 2\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("ferry_rows_bucket{le=\"1.048576e+06\"} 3\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("ferry_rows_bucket{le=\"+Inf\"} 3\nferry_rows_count 3\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace ferry

// Tests what trace files may hold, and the replay.
#include "bench/arrivals/arrival_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/bench/arrivals/arrival_statistics.h"

namespace ferry::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

std::string Write(const std::string& text) {
  const std::string path = ::testing::TempDir() + "arrival_trace_test.csv";
  std::ofstream(path) << text;
  return path;
}

std::string ErrorOf(const std::string& text) {
  const auto trace = ArrivalTrace::Read(Write(text));
  EXPECT_FALSE(trace.ok());
  return std::string(trace.status().message());
}

TEST(ArrivalTraceTest, ReadsATimeALine) {
  const auto trace = ArrivalTrace::Read(Write("10\n10.5\n\n10.5\r\n12\n"));
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(trace->gaps_s(), ElementsAre(0.5, 0, 1.5));
  EXPECT_DOUBLE_EQ(trace->rate(), 1.5);
}

TEST(ArrivalTraceTest, ReadsAColumnOfCsv) {
  for (const char* text :
       {"tokens,arrival_s\n7,1\n9,1.25\n8,3", "Timestamp,x\r\n1,a\r\n1.25\n3,",
        " timestamp , arrival_s\n1,9\n1.25,8\n3,7"}) {
    const auto trace = ArrivalTrace::Read(Write(text));
    ASSERT_TRUE(trace.ok()) << trace.status();
    EXPECT_THAT(trace->gaps_s(), ElementsAre(0.25, 1.75)) << text;
  }
}

TEST(ArrivalTraceTest, WrongFilesAreNamedByLine) {
  EXPECT_THAT(ErrorOf("1\n2\n1.5\n"),
              EndsWith(".csv:3: expected ascending times, 2.000000 s or later, "
                       "got '1.5'"));
  EXPECT_THAT(ErrorOf("\n1\ntwo\n"),
              EndsWith(":3: expected a number of seconds, got 'two'"));
  EXPECT_THAT(ErrorOf("x,timestamp\n1,1\n2\n"),
              EndsWith(":3: expected a number of seconds, got ''"));
  EXPECT_THAT(ErrorOf("1\nnan\n"), HasSubstr(":2: expected a number"));
  EXPECT_THAT(ErrorOf("when,what\n1,2\n"),
              EndsWith(":1: expected a number of seconds, or a header with a "
                       "column 'arrival_s' or 'timestamp', got 'when,what'"));
}

TEST(ArrivalTraceTest, FilesWithoutARateAreRefused) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("expected two arrivals at different "
                                     "times, got 0 arrivals"));
  EXPECT_THAT(ErrorOf("timestamp\n"), HasSubstr("got 0 arrivals"));
  EXPECT_THAT(ErrorOf("5\n"), HasSubstr("got 1 arrivals at one"));
  EXPECT_THAT(ErrorOf("5\n5\n5"), HasSubstr("got 3 arrivals at one"));
  EXPECT_THAT(ArrivalTrace::Read("/nonexistent.csv").status().message(),
              HasSubstr("cannot read /nonexistent.csv: No such file"));
  EXPECT_THAT(ArrivalTrace::Read("/").status().message(),
              HasSubstr("cannot read /: Is a directory"));
}

// Four arrivals in 3 s: a mean gap of 1 s.
std::vector<int64_t> Replay(double per_second, int count) {
  auto trace = ArrivalTrace::Read(Write("100\n100.5\n100.5\n103\n"));
  TraceArrivals arrivals(std::make_shared<ArrivalTrace>(*trace), per_second);
  return DrawGapsNs(arrivals, count);
}

TEST(TraceArrivalsTest, StartsOverAfterAMeanGap) {
  EXPECT_THAT(
      Replay(1, 9),
      ElementsAre(1'000'000'000, 500'000'000, 0, 2'500'000'000, 1'000'000'000,
                  500'000'000, 0, 2'500'000'000, 1'000'000'000));
}

TEST(TraceArrivalsTest, AnotherRateStretchesAllGaps) {
  EXPECT_THAT(Replay(4, 5), ElementsAre(250'000'000, 125'000'000, 0,
                                        625'000'000, 250'000'000));
  EXPECT_THAT(Replay(0.5, 2), ElementsAre(2'000'000'000, 1'000'000'000));
}

TEST(TraceArrivalsTest, RateHoldsOverManyRounds) {
  const std::vector<int64_t> gaps_ns = Replay(7, 40000);
  EXPECT_NEAR(Mean(gaps_ns) * 40000, 40000 / 7.0 * 1e9, 2);
}

}  // namespace
}  // namespace ferry::bench

// Tests the message that tells balancers the load.
#include "server/grpc/endpoint_load.h"

#include <gtest/gtest.h>

#include <cstring>

namespace ferry {
namespace {

double DoubleAt(const std::string& message, size_t at) {
  double value = 0;
  std::memcpy(&value, message.data() + at, sizeof(value));
  return value;
}

TEST(EndpointLoad, NothingIsToldBeforeTheLoadIsKnown) {
  EndpointLoad report;
  EXPECT_EQ(report.Trailer(), "");
  report.Set({.ratio = 0.5, .rows_per_second = 100});
  EXPECT_NE(report.Trailer(), "");
  report.Set({});
  EXPECT_EQ(report.Trailer(), "");
}

TEST(EndpointLoad, ItIsAnOrcaLoadReport) {
  EndpointLoad report;
  report.Set({.ratio = 0.75, .rows_per_second = 1500});
  const std::string message = report.Trailer();
  ASSERT_EQ(message.size(), 18U);
  EXPECT_EQ(message[0], 6 << 3 | 1);  // rps_fractional, a double
  EXPECT_EQ(DoubleAt(message, 1), 1500);
  EXPECT_EQ(message[9], 9 << 3 | 1);  // application_utilization, a double
  EXPECT_EQ(DoubleAt(message, 10), 0.75);
}

}  // namespace
}  // namespace ferry

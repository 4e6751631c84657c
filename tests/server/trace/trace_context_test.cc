// Tests what is read of a client's trace, and what is not.
#include "server/trace/trace_context.h"

#include <gtest/gtest.h>

#include <string>

namespace ferry {
namespace {

constexpr char kTrace[] = "0af7651916cd43dd8448eb211c80319c";
constexpr char kSpan[] = "b7ad6b7169203331";

std::string Parent(const std::string& version = "00",
                   const std::string& flags = "01") {
  return version + "-" + kTrace + "-" + kSpan + "-" + flags;
}

TEST(Traceparent, FieldsAreRead) {
  const auto context = ParseTraceparent(Parent());
  ASSERT_TRUE(context.has_value());
  EXPECT_EQ(ToHex(context->trace_id), kTrace);
  EXPECT_EQ(ToHex(context->span_id), kSpan);
  EXPECT_TRUE(context->is_sampled);
  EXPECT_FALSE(ParseTraceparent(Parent("00", "00"))->is_sampled);
  EXPECT_TRUE(ParseTraceparent(Parent("00", "ff"))->is_sampled);
}

TEST(Traceparent, LaterVersionsMayHaveMoreBehindADash) {
  EXPECT_TRUE(ParseTraceparent(Parent("01")).has_value());
  EXPECT_TRUE(ParseTraceparent(Parent("cc") + "-what-the-future").has_value());
  EXPECT_FALSE(ParseTraceparent(Parent("cc") + "what").has_value());
  EXPECT_FALSE(ParseTraceparent(Parent("00") + "-more").has_value());
  EXPECT_FALSE(ParseTraceparent(Parent("ff")).has_value());
}

TEST(Traceparent, WhatIsMalformedIsNone) {
  std::string upper = Parent();
  upper[5] = 'A';
  std::string spaced = Parent();
  spaced[54] = ' ';
  std::string dotted = Parent();
  dotted[35] = '.';
  const auto is_none = [](const std::string& text) {
    return !ParseTraceparent(text).has_value();
  };
  EXPECT_TRUE(is_none(""));
  EXPECT_TRUE(is_none("00"));
  EXPECT_TRUE(is_none(Parent().substr(1)));
  EXPECT_TRUE(is_none(Parent().substr(0, 54)));
  EXPECT_TRUE(is_none(upper));
  EXPECT_TRUE(is_none(spaced));
  EXPECT_TRUE(is_none(dotted));
  EXPECT_TRUE(is_none(" " + Parent()));
  EXPECT_TRUE(is_none(Parent() + " "));
  EXPECT_TRUE(is_none(Parent("0x")));
  EXPECT_TRUE(is_none(Parent("00", "0g")));
  EXPECT_TRUE(
      is_none("00-00000000000000000000000000000000-b7ad6b7169203331-01"))
      << "no trace";
  EXPECT_TRUE(
      is_none("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"))
      << "no span";
}

TEST(NewTraceId, IdsDiffer) {
  EXPECT_NE(NewTraceId(), NewTraceId());
  EXPECT_NE(NewTraceId(), TraceId{});
  EXPECT_NE(NewSpanId(), NewSpanId());
}

TEST(IsDrawn, SharesOfNoneAndAllAreNoMatterOfChance) {
  int drawn = 0;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(IsDrawn(0));
    EXPECT_TRUE(IsDrawn(1));
    drawn += IsDrawn(0.5) ? 1 : 0;
  }
  EXPECT_GT(drawn, 300);
  EXPECT_LT(drawn, 700);
}

}  // namespace
}  // namespace ferry

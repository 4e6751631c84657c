// Tests that LineRelay labels whole lines, however their bytes are cut.
#include "deploy/launch/line_relay.h"

#include <gtest/gtest.h>

#include <string>

namespace ferry::launch {
namespace {

TEST(LineRelayTest, LinesGetTheLabel) {
  LineRelay relay("a");
  EXPECT_EQ(relay.Take("one\ntwo\n"), "[a] one\n[a] two\n");
  EXPECT_EQ(relay.Take("\n"), "[a] \n");
  EXPECT_EQ(relay.TakeRest(), "");
}

TEST(LineRelayTest, PartsAreJoined) {
  LineRelay relay("a");
  EXPECT_EQ(relay.Take("on"), "");
  EXPECT_EQ(relay.Take("e\ntw"), "[a] one\n");
  EXPECT_EQ(relay.TakeRest(), "[a] tw\n");
  EXPECT_EQ(relay.TakeRest(), "");
}

TEST(LineRelayTest, LongLinesComeInParts) {
  LineRelay relay("a");
  const std::string part(LineRelay::kMaxLine, 'x');
  EXPECT_EQ(relay.Take(part + part + "y\n"),
            "[a] " + part + "\n[a] " + part + "\n[a] y\n");
  EXPECT_EQ(relay.Take(part + "\n"), "[a] " + part + "\n");
}

TEST(LineRelayTest, LastLineIsKeptUntilItIsTaken) {
  LineRelay relay("a");
  relay.Take("one\ntwo\nthr");
  EXPECT_EQ(relay.TakeLastLine(), "two");
  EXPECT_EQ(relay.TakeLastLine(), "");
  relay.TakeRest();
  EXPECT_EQ(relay.TakeLastLine(), "thr");
}

TEST(LineRelayTest, ControlCharactersAreEscaped) {
  LineRelay relay("a");
  const std::string lines = relay.Take("\x1b[2J\r[b] forged\n");
  EXPECT_EQ(lines, "[a] \\x1b[2J\\x0d[b] forged\n");
  EXPECT_EQ("[a] " + relay.TakeLastLine() + "\n", lines);
}

}  // namespace
}  // namespace ferry::launch

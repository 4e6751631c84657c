// Tests that ParseFlags() refuses flags without values, and reads odd values.
#include "flags/parse_flags.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ferry {
namespace {

struct Parsed {
  std::string folder = "none";
  double seconds = 0;
  std::vector<std::string> rest;
  std::string error;  // empty: it was read
};

Parsed Parse(std::vector<const char*> arguments) {
  Parsed parsed;
  CLI::App app;
  app.add_option("--folder", parsed.folder);
  app.add_option("--seconds", parsed.seconds);
  app.add_option("rest", parsed.rest);
  arguments.insert(arguments.begin(), "program");
  try {
    ParseFlags(app, static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::ParseError& error) {
    parsed.error = error.what();
  }
  return parsed;
}

TEST(ParseFlagsTest, EmptyValueDoesNotTakeTheNextArgument) {
  const Parsed parsed = Parse({"--folder=", "--seconds=1"});
  EXPECT_EQ(parsed.error, "expected a value after --folder=, got none");
  EXPECT_EQ(parsed.folder, "none");
}

TEST(ParseFlagsTest, EmptyValueAtTheEndIsRefusedToo) {
  EXPECT_EQ(Parse({"--seconds=1", "--folder="}).error,
            "expected a value after --folder=, got none");
}

TEST(ParseFlagsTest, WhatOnlyLooksLikeItIsRead) {
  const Parsed parsed = Parse({"--folder=a=", "--seconds", "2"});
  EXPECT_EQ(parsed.error, "");
  EXPECT_EQ(parsed.folder, "a=");
  EXPECT_EQ(parsed.seconds, 2);
  EXPECT_EQ(Parse({"--folder", ""}).folder, "");
}

TEST(ParseFlagsTest, WhatFollowsTheDashesIsNotLookedAt) {
  const Parsed parsed = Parse({"--folder=a", "--", "--b="});
  EXPECT_EQ(parsed.error, "");
  EXPECT_EQ(parsed.rest, std::vector<std::string>{"--b="});
}

}  // namespace
}  // namespace ferry

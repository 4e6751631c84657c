// Tests that ParseFlags() refuses flags without values, and reads odd values.
#include "flags/parse_flags.h"

#include <gmock/gmock.h>
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

TEST(ParseFlagsTest, FlagWithoutItsValueAtTheEndIsRefusedAlike) {
  EXPECT_EQ(Parse({"--folder"}).error,
            "expected a value after --folder, got none");
}

TEST(ParseFlagsTest, FlagThatIsGivenTwiceIsRefusedWhereItMayNotBe) {
  CLI::App app;
  std::string folder;
  app.add_option("--folder", folder)
      ->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  const char* const arguments[] = {"program", "--folder", "a", "--folder", "b"};
  try {
    ParseFlags(app, 5, arguments);
    FAIL();
  } catch (const CLI::ParseError& error) {
    EXPECT_STREQ(error.what(), "expected --folder once, found it again");
  }
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

// A program of two commands, as ferry-bench is.
std::string ErrorOfCommands(std::vector<const char*> arguments) {
  double number = 0;
  CLI::App app;
  app.require_subcommand(1);
  app.fallthrough();
  CLI::App* const run = app.add_subcommand("run");
  run->add_option("--warm-up-secs,-w", number);
  CLI::App* const search = app.add_subcommand("search");
  search->add_option("--slo-ms", number, "bound of p99")->required();
  search->add_option("--percentile", number);
  search->add_option("--hidden", number)->group("");
  std::vector<std::string> files;
  app.add_subcommand("merge")
      ->add_option("results", files, "JSON files of `run`")
      ->type_name("FILE")
      ->required()
      ->expected(2, CLI::detail::expected_max_vector_size);
  arguments.insert(arguments.begin(), "program");
  try {
    ParseFlags(app, static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

TEST(ParseFlagsTest, UnknownFlagIsNamedWithWhatIsNear) {
  EXPECT_EQ(Parse({"--foldr", "a"}).error,
            "unknown flag --foldr; did you mean --folder?");
  EXPECT_EQ(Parse({"--seconds=1", "--secs=2"}).error, "unknown flag --secs");
  EXPECT_EQ(Parse({"-z"}).error, "unknown flag -z");
}

TEST(ParseFlagsTest, UnknownFlagOfACommandComesBeforeWhatIsMissing) {
  EXPECT_EQ(ErrorOfCommands({"run", "--warmup-secs", "3"}),
            "unknown flag --warmup-secs; did you mean --warm-up-secs?");
  EXPECT_EQ(ErrorOfCommands({"search", "--slo", "50"}),
            "unknown flag --slo; did you mean --slo-ms?");
  EXPECT_EQ(ErrorOfCommands({"search", "--hiden", "50"}),
            "unknown flag --hiden");
}

TEST(ParseFlagsTest, FlagOfAnotherPlaceIsToldWhereItBelongs) {
  EXPECT_EQ(ErrorOfCommands({"run", "--percentile", "95"}),
            "unknown flag --percentile; it is one of 'search'");
  EXPECT_EQ(
      ErrorOfCommands({"--warm-up-secs", "3", "run"}),
      "expected --warm-up-secs behind the command 'run', found it before");
  EXPECT_EQ(ErrorOfCommands({"-w", "3", "run"}),
            "expected -w behind the command 'run', found it before");
  EXPECT_EQ(ErrorOfCommands({"-w", "3"}),
            "unknown flag -w; it is one of 'run'");
  EXPECT_EQ(ErrorOfCommands({"run", "--hidden", "3"}), "unknown flag --hidden");
  EXPECT_EQ(ErrorOfCommands({"--hidden", "3", "search"}),
            "unknown flag --hidden");
}

TEST(ParseFlagsTest, WhatIsRequiredIsToldWithItsHelp) {
  EXPECT_EQ(ErrorOfCommands({"merge"}),
            "expected 2 or more of FILE (JSON files of `run`), got none");
  EXPECT_EQ(ErrorOfCommands({"merge", "a.json"}),
            "expected 2 or more of FILE (JSON files of `run`), got 1");
  EXPECT_EQ(ErrorOfCommands({"merge", "a.json", "b.json"}), "");
  EXPECT_EQ(ErrorOfCommands({"search"}),
            "expected --slo-ms (bound of p99), got none");
  EXPECT_THAT(ErrorOfCommands({"search", "--percentile", "many"}),
              testing::HasSubstr("--percentile"))
      << "what is wrong comes before what is missing";
}

TEST(ParseFlagsTest, UnknownCommandAndStrayWordAreTold) {
  EXPECT_EQ(ErrorOfCommands({}),
            "expected a command, got none; there are run, search, merge");
  EXPECT_EQ(ErrorOfCommands({"rnu"}),
            "expected a command, got 'rnu'; there are run, search, merge");
  EXPECT_EQ(ErrorOfCommands({"serch"}),
            "expected a command, got 'serch'; did you mean search?");
  EXPECT_EQ(ErrorOfCommands({"run", "5"}), "expected a flag, got '5'");
}

}  // namespace
}  // namespace ferry

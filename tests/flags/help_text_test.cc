// Tests what --help shows of a flag, and how it fits a terminal.
#include "flags/help_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>

#include "flags/value_checks.h"

namespace ferry {
namespace {

using ::testing::HasSubstr;

std::string HelpAt(const char* columns) {
  CLI::App app("says what it does");
  int count = 2;
  double rate = 0;
  std::string path;
  std::string policy;
  app.option_defaults()->group("Loads");
  CLI::Option* const counted =
      app.add_option("-c,--connections", count, "connections to the server")
          ->check(IntegerFrom(1, 256))
          ->capture_default_str();
  app.add_option("--rate", rate, "requests/s")
      ->check(NumberFrom(0.5, 100))
      ->excludes(counted)
      ->required();
  app.option_defaults()->group("Results");
  app.add_option("--a-name-that-fills-its-column", path,
                 "a file with words that go on for longer than a line of a "
                 "terminal has columns")
      ->type_name("FILE");
  app.add_option("--policy", policy)->check(OneOf({"a", "b"}));
  app.add_option("--input", path)->type_name("NAME:TYPE");
  app.add_option("--threads", count, "cores")
      ->check(IntegerFrom(1, 64))
      ->type_name("N");
  UseHelpText(app);
  setenv("COLUMNS", columns, /*overwrite=*/1);
  std::string help = app.help("program");
  unsetenv("COLUMNS");
  return help;
}

TEST(HelpTextTest, SaysRangeDefaultAndWhatExcludesIt) {
  const std::string help = HelpAt("400");
  EXPECT_THAT(help, HasSubstr("\nLoads:\n"));
  EXPECT_THAT(help,
              HasSubstr("  -c,--connections INT      connections to the server "
                        "[1 to 256; default 2; not with --rate]"));
  EXPECT_THAT(help, HasSubstr("  --rate FLOAT              requests/s "
                              "[required; 0.5 to 100; not with "
                              "--connections]"));
  EXPECT_THAT(help, HasSubstr("\nResults:\n"));
  EXPECT_THAT(help, HasSubstr("  --policy a|b "));
  EXPECT_THAT(help, HasSubstr("  --input NAME:TYPE "));
  EXPECT_THAT(help, HasSubstr("  --threads N               cores [1 to 64]"));
}

TEST(HelpTextTest, NoLineIsLongerThanTheTerminal) {
  const std::string help = HelpAt("60");
  EXPECT_THAT(help, HasSubstr("  --a-name-that-fills-its-column FILE\n"
                              "                            a file with words"));
  size_t begin = 0;
  for (size_t end = 0; (end = help.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    EXPECT_LE(end - begin, 60U) << help.substr(begin, end - begin);
  }
}

}  // namespace
}  // namespace ferry

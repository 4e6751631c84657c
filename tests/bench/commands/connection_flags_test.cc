// Tests the flags of a connection, and what results keep of them.
#include "bench/commands/connection_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "bench/commands/run_options.h"

namespace ferry::bench {
namespace {

using ::testing::ElementsAre;

TEST(ConnectionFlagsTest, AreReadIntoTheTargetWithoutValuesInResults) {
  CLI::App app;
  RunOptions options;
  AddRunFlags(app, options);
  app.parse("--header a:b,c --header d:e --authority host --tls");
  const auto completed = CompleteRunOptions(options);
  ASSERT_TRUE(completed.ok()) << completed.status();
  const ConnectionOptions& connection = completed->target.connection;
  EXPECT_THAT(connection.headers,
              ElementsAre(std::pair("a", "b,c"), std::pair("d", "e")));
  EXPECT_EQ(connection.authority, "host");
  EXPECT_TRUE(connection.tls);
  EXPECT_EQ(EffectiveFlags(app).at("header"), "a:...,d:...");
}

TEST(ConnectionFlagsTest, CommandLineHasNoValuesOfHeaders) {
  EXPECT_EQ(CommandLineOf({"/bin/b", "run", "--header", "a:b c", "--header=d:e",
                           "--rows", "2"},
                          "b"),
            "b run --header a:... --header=d:... --rows 2");
  EXPECT_EQ(CommandLineOf({"x", "--header"}, "b"), "b --header");
}

TEST(ConnectionFlagsTest, CertificatesNeedTls) {
  CLI::App app;
  ConnectionFlags flags;
  AddConnectionFlags(app, flags);
  EXPECT_THROW(app.parse("--tls-ca file"), CLI::RequiresError);
}

}  // namespace
}  // namespace ferry::bench

// Tests that what an app takes is found in the app, and in the scripts.
#include "bench/commands/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace ferry::bench {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CompletionTest : public ::testing::Test {
 protected:
  CompletionTest() : app_("a tool", "the-tool") {
    CLI::App* const cut = app_.add_subcommand("cut", "cut it: 'all' [of it]");
    cut->add_option("-u,--how", how_, "of cutting")
        ->check(CLI::IsMember({"fast", "slow"}));
    cut->add_option("--sizes", sizes_, "to cut")->delimiter(',');
    cut->add_option("--kind", how_)->type_name("{plain,round:RADIUS}");
    cut->add_option("--out", how_, "what came of it")->type_name("FILE");
    cut->add_flag("--dry", is_dry_, "nothing is cut");
    cut->add_option("thing", how_, "to cut")->type_name("PATH");
  }

  const CompletedFlag& Flag(const CompletedCommand& command,
                            const std::string& name) {
    for (const CompletedFlag& flag : command.flags) {
      if (flag.names.back() == name) {
        return flag;
      }
    }
    ADD_FAILURE() << name;
    return command.flags.front();
  }

  std::string how_;
  std::vector<int> sizes_;
  bool is_dry_ = false;
  CLI::App app_;
};

TEST_F(CompletionTest, AnAppSaysWhatItTakes) {
  const CompletedCommand program = DescribeCommands(app_);
  ASSERT_THAT(program.commands, SizeIs(1));
  const CompletedCommand& cut = program.commands.front();
  EXPECT_EQ(cut.name, "cut");
  EXPECT_THAT(Flag(cut, "--how").names, ElementsAre("-u", "--how"));
  EXPECT_THAT(Flag(cut, "--how").words, ElementsAre("fast", "slow"));
  EXPECT_THAT(Flag(cut, "--kind").words, ElementsAre("plain", "round:"));
  EXPECT_TRUE(Flag(cut, "--sizes").is_list);
  EXPECT_THAT(Flag(cut, "--sizes").words, IsEmpty());
  EXPECT_TRUE(Flag(cut, "--out").takes_files);
  EXPECT_FALSE(Flag(cut, "--dry").takes_value);
  EXPECT_FALSE(Flag(cut, "--help").takes_value);
  ASSERT_THAT(cut.arguments, SizeIs(1));
  EXPECT_TRUE(cut.arguments.front().takes_files);
}

TEST_F(CompletionTest, EachScriptHasTheFlagsAndTheirWords) {
  const CompletedCommand program = DescribeCommands(app_);
  EXPECT_THAT(
      BashCompletion(program),
      AllOf(HasSubstr("'cut -u' | 'cut --how')"), HasSubstr("'fast slow'"),
            HasSubstr("complete -F _the_tool the-tool\n")));
  EXPECT_THAT(ZshCompletion(program),
              AllOf(HasSubstr("#compdef the-tool\n"),
                    HasSubstr("'*--how=[of cutting]:value:(fast slow)'"),
                    HasSubstr("'cut:cut it: '\\''all'\\'' [of it]'"),
                    HasSubstr("'*--dry[nothing is cut]'")));
  EXPECT_THAT(FishCompletion(program),
              AllOf(HasSubstr("-s u -l how -x -a 'fast slow' -d 'of cutting'"),
                    HasSubstr("-l out -r -F"),
                    HasSubstr("-a cut -d 'cut it: '\\''all'\\'' [of it]'")));
}

}  // namespace
}  // namespace ferry::bench

// BashCompletion() and its like write the script with which a shell completes a
// command line, from the commands and flags of the CLI11 app itself.
//
// Offered are the names of subcommands and flags; for values the words of a set
// (a type name such as "{eager,window}", which CLI11 gives to sets of its own;
// of "gamma:CV" what stands before the colon, and it), and files where the type
// name is FILE or PATH.
//
// Thread safety: plain values; functions of them.
#ifndef FERRY_BENCH_COMMANDS_COMPLETION_H_
#define FERRY_BENCH_COMMANDS_COMPLETION_H_

#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace ferry::bench {

// A flag, or an argument without a name.
struct CompletedFlag {
  std::vector<std::string> names;  // with their dashes; none of an argument
  std::string help;
  bool takes_value = false;
  bool takes_files = false;
  bool is_list = false;            // words with commas between
  std::vector<std::string> words;  // one that ends with a colon goes on
};

struct CompletedCommand {
  std::string name;
  std::string help;
  std::vector<CompletedFlag> flags;
  std::vector<CompletedFlag> arguments;
  std::vector<CompletedCommand> commands;
};

// Returns what `app`, with its subcommands, takes.
CompletedCommand DescribeCommands(CLI::App& app);

// Each returns a script; `program` is the name that is completed.
std::string BashCompletion(const CompletedCommand& program);
std::string ZshCompletion(const CompletedCommand& program);
std::string FishCompletion(const CompletedCommand& program);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMMANDS_COMPLETION_H_

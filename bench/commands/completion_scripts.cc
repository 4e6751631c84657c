// Implements a script writer for each shell. Bash: "Programmable Completion" of
// its manual. Zsh: _arguments of zshcompsys(1). fish: complete(1).
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "bench/commands/completion.h"

namespace ferry::bench {
namespace {

using Strings = std::vector<std::string>;

std::string FunctionName(const CompletedCommand& program) {
  return absl::StrCat("_", absl::StrReplaceAll(program.name, {{"-", "_"}}));
}

// In single quotes, for any of the three.
std::string Quoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

Strings NamesOf(const std::vector<CompletedFlag>& flags) {
  Strings names;
  for (const CompletedFlag& flag : flags) {
    names.insert(names.end(), flag.names.begin(), flag.names.end());
  }
  return names;
}

Strings NamesOf(const std::vector<CompletedCommand>& commands) {
  Strings names;
  for (const CompletedCommand& command : commands) {
    names.push_back(command.name);
  }
  return names;
}

// The case of a flag of bash that takes a value: what to offer for it.
void AppendBashCase(const std::string& command, const CompletedFlag& flag,
                    std::string& script) {
  if (!flag.takes_value) {
    return;
  }
  absl::StrAppend(&script, "    ",
                  absl::StrJoin(flag.names, " | ",
                                [&](std::string* out, const std::string& name) {
                                  absl::StrAppend(out,
                                                  Quoted(command + " " + name));
                                }),
                  ")\n      ");
  if (flag.takes_files) {
    absl::StrAppend(&script, "compopt -o filenames 2>/dev/null\n      ",
                    "mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n");
  } else if (flag.words.empty()) {
    absl::StrAppend(&script, ":\n");
  } else {
    if (flag.is_list) {
      absl::StrAppend(&script, "[[ $cur != *,* ]] || before=\"${cur%,*},\"\n",
                      "      ");
    }
    absl::StrAppend(&script, "COMPREPLY=($(compgen -P \"$before\" -W ",
                    Quoted(absl::StrJoin(flag.words, " ")),
                    " -- \"${cur#\"$before\"}\"))\n",
                    "      [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *: "
                    "]] ||\n        compopt -o nospace 2>/dev/null\n");
  }
  absl::StrAppend(&script, "      return\n      ;;\n");
}

// What stands where no flag wants a value.
void AppendBashWords(const CompletedCommand& command, const std::string& name,
                     std::string& script) {
  Strings words = NamesOf(command.commands);
  bool takes_files = false;
  for (const CompletedFlag& argument : command.arguments) {
    words.insert(words.end(), argument.words.begin(), argument.words.end());
    takes_files = takes_files || argument.takes_files;
  }
  absl::StrAppend(&script, "    ", Quoted(name), ")\n      flags=",
                  Quoted(absl::StrJoin(NamesOf(command.flags), " ")),
                  "\n      words=", Quoted(absl::StrJoin(words, " ")),
                  "\n      files=", takes_files ? "yes" : "", "\n      ;;\n");
}

std::string ZshHelp(const std::string& help) {
  return absl::StrReplaceAll(
      help, {{"\\", "\\\\"}, {"[", "\\["}, {"]", "\\]"}, {":", "\\:"}});
}

// ":what:action" of _arguments.
std::string ZshValue(const CompletedFlag& flag) {
  if (!flag.takes_value) {
    return "";
  }
  if (flag.takes_files) {
    return ":file:_files";
  }
  if (flag.words.empty()) {
    return ":value: ";
  }
  std::string words = absl::StrJoin(flag.words, " ");
  return flag.is_list
             ? absl::StrCat(":value:_values -s , value ", words)
             : absl::StrCat(":value:(",
                            absl::StrReplaceAll(words, {{":", "\\:"}}), ")");
}

// --name=value is the same as --name value.
const char* ZshEquals(const CompletedFlag& flag, const std::string& name) {
  return flag.takes_value && absl::StartsWith(name, "--") ? "=" : "";
}

void AppendZshArguments(const CompletedCommand& command,
                        const std::string& indent, std::string& script) {
  for (const CompletedFlag& flag : command.flags) {
    for (const std::string& name : flag.names) {
      absl::StrAppend(
          &script, " \\\n", indent,
          Quoted(absl::StrCat("*", name, ZshEquals(flag, name), "[",
                              ZshHelp(flag.help), "]", ZshValue(flag))));
    }
  }
  if (!command.arguments.empty()) {  // one rule for all that follow
    absl::StrAppend(
        &script, " \\\n", indent,
        Quoted(absl::StrCat("*", ZshValue(command.arguments.front()))));
  }
}

void AppendFishFlags(const std::string& program, const std::string& condition,
                     const CompletedCommand& command, std::string& script) {
  const std::string begin =
      absl::StrCat("complete -c ", program, " -n ", Quoted(condition));
  const auto value = [](const CompletedFlag& flag) {
    return flag.takes_files ? std::string(" -r -F")
           : flag.words.empty()
               ? std::string(" -x")
               : absl::StrCat(" -x -a ",
                              Quoted(absl::StrJoin(flag.words, " ")));
  };
  for (const CompletedFlag& flag : command.flags) {
    std::string line = begin;
    for (const std::string& name : flag.names) {
      absl::StrAppend(&line, absl::StartsWith(name, "--") ? " -l " : " -s ",
                      name.substr(name.find_first_not_of('-')));
    }
    absl::StrAppend(&script, line, flag.takes_value ? value(flag) : "", " -d ",
                    Quoted(flag.help), "\n");
  }
  for (const CompletedFlag& argument : command.arguments) {
    absl::StrAppend(
        &script, begin,
        argument.takes_files
            ? std::string(" -F")
            : absl::StrCat(" -a ", Quoted(absl::StrJoin(argument.words, " "))),
        "\n");
  }
}

}  // namespace

std::string BashCompletion(const CompletedCommand& program) {
  const std::string function = FunctionName(program);
  std::string script = absl::StrCat(
      "# bash completion of ", program.name, "; `", program.name,
      " completion bash` printed it.\n", function,
      "() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local command= before= flags= words= files= i\n"
      "  COMPREPLY=()\n"
      "  # --flag=value comes in three words.\n"
      "  if [[ $cur == = ]]; then\n"
      "    cur=\n"
      "  elif [[ $prev == = ]]; then\n"
      "    prev=${COMP_WORDS[COMP_CWORD-2]}\n"
      "  fi\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    case ${COMP_WORDS[i]} in\n      ",
      absl::StrJoin(NamesOf(program.commands), " | "),
      ")\n"
      "        command=${COMP_WORDS[i]}\n"
      "        break\n"
      "        ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$command $prev\" in\n");
  for (const CompletedFlag& flag : program.flags) {
    AppendBashCase("", flag, script);
  }
  for (const CompletedCommand& command : program.commands) {
    for (const CompletedFlag& flag : command.flags) {
      AppendBashCase(command.name, flag, script);
    }
  }
  absl::StrAppend(&script, "  esac\n  case $command in\n");
  AppendBashWords(program, "", script);
  for (const CompletedCommand& command : program.commands) {
    AppendBashWords(command, command.name, script);
  }
  absl::StrAppend(&script,
                  "  esac\n"
                  "  if [[ $cur == -* ]]; then\n"
                  "    words=$flags\n"
                  "    files=\n"
                  "  fi\n"
                  "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                  "  if [[ $files ]]; then\n"
                  "    compopt -o filenames 2>/dev/null\n"
                  "    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f "
                  "-- \"$cur\")\n"
                  "  fi\n"
                  "}\n"
                  "complete -F ",
                  function, " ", program.name, "\n");
  return script;
}

std::string ZshCompletion(const CompletedCommand& program) {
  // Has the name of the file that it is autoloaded from.
  const std::string function = absl::StrCat("_", program.name);
  std::string script = absl::StrCat(
      "#compdef ", program.name, "\n# zsh completion of ", program.name, "; `",
      program.name, " completion zsh` printed it.\n", function,
      "() {\n  local context state line\n  local -a subcommands\n  "
      "subcommands=(\n");
  for (const CompletedCommand& command : program.commands) {
    absl::StrAppend(&script, "    ",
                    Quoted(absl::StrCat(command.name, ":", command.help)),
                    "\n");
  }
  absl::StrAppend(&script, "  )\n  _arguments -C");
  AppendZshArguments(program, "    ", script);
  absl::StrAppend(&script,
                  " \\\n    '1: :->command' '*:: :->rest'\n"
                  "  case $state in\n"
                  "    command) _describe command subcommands ;;\n"
                  "    rest)\n"
                  "      case $words[1] in\n");
  for (const CompletedCommand& command : program.commands) {
    absl::StrAppend(&script, "        ", command.name, ")\n",
                    "          _arguments");
    AppendZshArguments(command, "            ", script);
    absl::StrAppend(&script, "\n          ;;\n");
  }
  absl::StrAppend(&script,
                  "      esac\n      ;;\n  esac\n}\n"
                  "if [[ ${funcstack[1]} == ",
                  function, " ]]; then\n  ", function,
                  " \"$@\"\nelse\n  compdef ", function, " ", program.name,
                  "\nfi\n");
  return script;
}

std::string FishCompletion(const CompletedCommand& program) {
  const std::string& name = program.name;
  std::string script = absl::StrCat(
      "# fish completion of ", name, "; `", name,
      " completion fish` printed it.\ncomplete -c ", name, " -f\n");
  for (const CompletedCommand& command : program.commands) {
    absl::StrAppend(&script, "complete -c ", name,
                    " -n __fish_use_subcommand -a ", command.name, " -d ",
                    Quoted(command.help), "\n");
  }
  AppendFishFlags(name, "__fish_use_subcommand", program, script);
  for (const CompletedCommand& command : program.commands) {
    AppendFishFlags(name, "__fish_seen_subcommand_from " + command.name,
                    command, script);
  }
  return script;
}

}  // namespace ferry::bench

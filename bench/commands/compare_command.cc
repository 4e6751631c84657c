// Implements `ferry-bench compare`: tells whether two results differ, by how
// much and how surely.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/printable_text.h"
#include "base/replaced_file.h"
#include "bench/commands/command_report.h"
#include "bench/commands/commands.h"
#include "bench/compare/compared_runs.h"
#include "bench/compare/comparison_text.h"
#include "bench/report/report_csv.h"
#include "bench/report/report_json.h"
#include "bench/report/writable_file.h"
#include "flags/terminal.h"
#include "flags/value_checks.h"

namespace ferry::bench {
namespace {

constexpr int kIsWorse = 2;

struct CompareFlags {
  ComparedFiles files;
  std::string json_path;
  std::string markdown_path;
  std::optional<double> fail_if_worse;  // percent
};

std::string ToMarkdown(const Comparison& comparison) {
  std::string text = absl::StrCat("A: ", comparison.name_a,
                                  ", B: ", comparison.name_b, "\n\n");
  for (const std::string& warning : comparison.warnings) {
    absl::StrAppend(&text, "**A and B differ: ", warning, "**\n\n");
  }
  for (const std::string& unsteady : comparison.unsteady) {
    absl::StrAppend(&text, "**", unsteady, "**\n\n");
  }
  if (comparison.loads.empty()) {
    absl::StrAppend(&text,
                    "A and B have no load in common whose numbers stand.\n\n");
  }
  return absl::StrCat(text, ToMarkdown(MakeTable(comparison)));
}

absl::Status WriteFiles(const CompareFlags& flags,
                        const Comparison& comparison) {
  if (!flags.json_path.empty()) {
    const absl::Status status =
        ReplaceFile(flags.json_path, ToJson(comparison));
    if (!status.ok()) {
      return status;
    }
  }
  return flags.markdown_path.empty()
             ? absl::OkStatus()
             : ReplaceFile(flags.markdown_path, ToMarkdown(comparison));
}

int Compare(const CompareFlags& flags) {
  const auto runs = ReadCompared(flags.files);
  if (!runs.ok()) {
    return Fail(runs.status());
  }
  const Comparison comparison = CompareRuns(runs->a, runs->b);
  std::fputs(ToText(comparison, TerminalColumns()).c_str(), stdout);
  if (const auto status = WriteFiles(flags, comparison); !status.ok()) {
    return Fail(status);
  }
  if (!flags.fail_if_worse.has_value()) {
    return comparison.loads.empty()
               ? Fail(absl::FailedPreconditionError(
                     "expected a load that A and B were both asked for, and "
                     "whose numbers stand; found none: what keeps them apart "
                     "is told above"))
               : 0;
  }
  const auto worse = WorseThan(comparison, *flags.fail_if_worse);
  for (const std::string& sentence : worse) {
    std::fprintf(stderr, "ferry-bench: --fail-if-worse: %s\n",
                 PrintableText(sentence).c_str());
  }
  return worse.empty() ? 0 : kIsWorse;
}

}  // namespace

void AddCompareCommand(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<CompareFlags>();
  CLI::App* const command = app.add_subcommand(
      "compare", "say whether two results differ, by how much and how surely");
  command
      ->add_option("a", flags->files.a,
                   "JSON file of `run`, `search` or `tune`: the base")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("b", flags->files.b,
                   "JSON file to compare with it; none: A holds both, by their "
                   "labels")
      ->type_name("FILE");
  command->add_option("--label-a", flags->files.label_a,
                      "the runs to take as A, where the file has several "
                      "labels");
  command->add_option("--label-b", flags->files.label_b, "the same of B");
  AddResultFile(*command, "--json", flags->json_path,
                "file for the comparison");
  AddResultFile(*command, "--markdown", flags->markdown_path,
                "file for the table as Markdown");
  command
      ->add_option("--fail-if-worse", flags->fail_if_worse,
                   "end with exit code 2 where the whole 95 % interval of a "
                   "rate or latency of B is worse by more than this; of the "
                   "share of errors, by so many percentage points; what cannot "
                   "be judged counts")
      ->type_name("PERCENT")
      ->check(NumberFrom(0.0, 1e6));
  command->callback([flags, &invocation] {
    invocation.chosen = [flags] { return Compare(*flags); };
  });
}

}  // namespace ferry::bench

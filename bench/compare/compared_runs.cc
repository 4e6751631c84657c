// Implements SelectCompared(): assigns labels to sides.
#include "bench/compare/compared_runs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bench/report/report_json.h"

namespace ferry::bench {
namespace {

using Runs = std::vector<RunResult>;

// In the order in which they come.
std::vector<std::string> LabelsOf(const Runs& runs) {
  std::vector<std::string> labels;
  for (const RunResult& run : runs) {
    if (std::find(labels.begin(), labels.end(), run.label) == labels.end()) {
      labels.push_back(run.label);
    }
  }
  return labels;
}

absl::Status Wrong(const std::string& file, const std::string& expected,
                   const Runs& runs) {
  return absl::InvalidArgumentError(
      absl::StrCat(file, ": expected ", expected, ", found the labels '",
                   absl::StrJoin(LabelsOf(runs), "', '"), "'"));
}

absl::StatusOr<Runs> OfLabel(const Runs& runs, const std::string& label,
                             const std::string& file) {
  Runs chosen;
  std::copy_if(runs.begin(), runs.end(), std::back_inserter(chosen),
               [&](const RunResult& run) {
                 return label.empty() || run.label == label;
               });
  if (chosen.empty()) {
    return Wrong(file, absl::StrCat("the label '", label, "'"), runs);
  }
  return chosen;
}

// Their labels are settings: two tunes may have tried different ones.
bool AreTuned(const Runs& runs) {
  return std::all_of(runs.begin(), runs.end(), [](const RunResult& run) {
    return run.search.has_value() && run.runtime_options.has_value();
  });
}

// Both sides from one file.
absl::Status CompleteLabels(const Runs& runs, ComparedFiles& files) {
  const std::vector<std::string> labels = LabelsOf(runs);
  const auto other = [&](const std::string& label) {
    return labels.size() == 2 ? labels[label == labels[0] ? 1 : 0] : "";
  };
  if (files.label_a.empty()) {
    files.label_a = files.label_b.empty() && labels.size() == 2
                        ? labels[0]
                        : other(files.label_b);
  }
  if (files.label_b.empty()) {
    files.label_b = other(files.label_a);
  }
  if (files.label_a.empty() || files.label_b.empty() ||
      files.label_a == files.label_b) {
    return Wrong(files.a,
                 "two labels in one file, or --label-a and --label-b of two",
                 runs);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ComparedRuns> SelectCompared(Runs a, Runs b,
                                            const ComparedFiles& given) {
  ComparedFiles files = given;
  if (files.b.empty()) {
    if (const auto status = CompleteLabels(a, files); !status.ok()) {
      return status;
    }
    b = a;
    files.b = files.a;
  }
  auto of_a = OfLabel(a, files.label_a, files.a);
  if (!of_a.ok()) {
    return of_a.status();
  }
  auto of_b = OfLabel(b, files.label_b, files.b);
  if (!of_b.ok()) {
    return of_b.status();
  }
  const auto labels_a = LabelsOf(*of_a);
  const auto labels_b = LabelsOf(*of_b);
  const bool is_plain = (labels_a.size() == 1 && labels_b.size() == 1) ||
                        (AreTuned(*of_a) && AreTuned(*of_b));
  if (!is_plain && !std::is_permutation(labels_a.begin(), labels_a.end(),
                                        labels_b.begin(), labels_b.end())) {
    return labels_a.size() > 1
               ? Wrong(files.a, "--label-a with one of its labels", *of_a)
               : Wrong(files.b, "--label-b with one of its labels", *of_b);
  }
  return ComparedRuns{*std::move(of_a), *std::move(of_b)};
}

absl::StatusOr<ComparedRuns> ReadCompared(const ComparedFiles& files) {
  auto a = ReadRuns({files.a});
  if (!a.ok()) {
    return a.status();
  }
  Runs of_b;
  if (!files.b.empty()) {
    auto b = ReadRuns({files.b});
    if (!b.ok()) {
      return b.status();
    }
    of_b = *std::move(b);
  }
  return SelectCompared(*std::move(a), std::move(of_b), files);
}

}  // namespace ferry::bench

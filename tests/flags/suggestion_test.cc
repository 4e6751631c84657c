// Tests which names are near to a wrong word.
#include "flags/suggestion.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ferry {
namespace {

const std::vector<std::string>& Names() {
  static const auto* const kNames = new std::vector<std::string>{
      "--max-batch-size", "--max-wait-ms",   "--warm-up-secs",
      "--grpc-port",      "--metrics-port",  "--model-repository",
      "--policy",         "--duration-secs", "--saturation-outstanding",
      "--rates",          "--fail-if-worse", "--tls"};
  return *kNames;
}

TEST(SuggestionTest, NamesThatAreNear) {
  const struct {
    const char* word;
    const char* said;
  } kCases[] = {
      {"--max-batch", "; did you mean --max-batch-size?"},
      {"--max_batch_size", "; did you mean --max-batch-size?"},
      {"--batch-size", "; did you mean --max-batch-size?"},
      {"--warmup-secs", "; did you mean --warm-up-secs?"},
      {"--polciy", "; did you mean --policy?"},
      {"-policy", "; did you mean --policy?"},
      {"--Policy", "; did you mean --policy?"},
      {"--duration", "; did you mean --duration-secs?"},
      {"--sat-outstanding", "; did you mean --saturation-outstanding?"},
      {"--rate", "; did you mean --rates?"},
      {"--fail-if", "; did you mean --fail-if-worse?"},
      {"--model-repo", "; did you mean --model-repository?"},
      {"--port", "; did you mean --grpc-port or --metrics-port?"},
  };
  for (const auto& one : kCases) {
    EXPECT_EQ(Suggestion(one.word, Names()), one.said) << one.word;
  }
}

TEST(SuggestionTest, NothingWhereNoneIsNear) {
  for (const char* word : {"--colour", "--x", "--", "", "-q", "--verbose"}) {
    EXPECT_EQ(Suggestion(word, Names()), "") << word;
  }
  EXPECT_EQ(Suggestion("--policy", {}), "");
}

}  // namespace
}  // namespace ferry

// Tests the wake-up protocol in every interleaving, and that the model notices
// where a step of it is left out.
#include "tests/batcher/model/pull_model.h"

#include <gtest/gtest.h>

#include <vector>

namespace ferry {
namespace {

// Small enough for seconds; what a mutation needs to be noticed is among them.
std::vector<PullModelOptions> Sizes(Mutation mutation) {
  const auto size = [mutation](size_t producers, size_t instances, int batch,
                               bool is_window, bool has_timer) {
    return PullModelOptions{.producers = producers,
                            .instances = instances,
                            .batch = batch,
                            .is_window = is_window,
                            .has_timer = has_timer,
                            .mutation = mutation};
  };
  return {size(2, 2, 1, false, false), size(2, 2, 2, true, false),
          size(2, 1, 2, false, true),  size(2, 1, 2, true, true),
          size(3, 2, 2, false, false), size(3, 2, 2, true, false)};
}

TEST(PullModel, EveryInterleavingKeepsThePromises) {
  for (const PullModelOptions& options : Sizes(Mutation::kNone)) {
    const PullModelResult result = ExplorePullModel(options);
    EXPECT_EQ(result.problem, "")
        << options.producers << " producers, " << options.instances
        << " instances, batch " << options.batch
        << (options.is_window ? ", window" : ", eager")
        << (options.has_timer ? ", timer" : "");
    EXPECT_GT(result.at_rest, 0u);
    EXPECT_GT(result.states, 1000u);
  }
}

TEST(PullModel, EachStepThatIsLeftOutIsNoticed) {
  for (int i = 1; i < kMutationCount; ++i) {
    bool is_noticed = false;
    for (const PullModelOptions& options : Sizes(static_cast<Mutation>(i))) {
      if (!ExplorePullModel(options).problem.empty()) {
        is_noticed = true;
        break;
      }
    }
    EXPECT_TRUE(is_noticed) << "mutation " << i;
  }
}

}  // namespace
}  // namespace ferry

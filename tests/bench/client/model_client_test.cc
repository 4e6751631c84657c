// Tests what a client makes of a server's description; tests/e2e has the calls.
#include "bench/client/model_client.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ferry::bench {
namespace {

// A config with those parameters, put in that order.
ModelDescription With(const std::vector<std::string>& names) {
  ModelDescription description;
  description.config.set_name("mlp");
  for (const std::string& name : names) {
    (*description.config.mutable_parameters())[name].set_string_value("1");
  }
  return description;
}

TEST(ModelDescriptionTest, BytesOfAConfigAreTheSameInAnyOrderOfItsMaps) {
  std::vector<std::string> names;
  for (int i = 0; i < 50; ++i) {
    names.push_back("ferry.parameter" + std::to_string(i));
  }
  const std::string bytes = With(names).ConfigBytes();
  const std::vector<std::string> reversed(names.rbegin(), names.rend());
  EXPECT_EQ(With(reversed).ConfigBytes(), bytes);
  names.pop_back();
  EXPECT_NE(With(names).ConfigBytes(), bytes);
}

}  // namespace
}  // namespace ferry::bench

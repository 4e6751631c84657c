// Tests what changes the hash of a configuration, and what does not.
#include "bench/report/config_hash.h"

#include <gtest/gtest.h>

namespace ferry::bench {
namespace {

TEST(ConfigHashTest, IsSha256) {
  // FIPS 180-4's example of one block.
  EXPECT_EQ(Sha256Of("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_NE(Sha256Of(std::string("a\0b", 3)), Sha256Of("a"));
}

TEST(ConfigHashTest, OfFlagsIsOfWhatIsMeasured) {
  const std::map<std::string, std::string> flags = {{"rates", "700"},
                                                    {"rows", "1"}};
  EXPECT_EQ(HashOfFlags(flags), Sha256Of("rates=700\nrows=1\n"));
  auto other = flags;
  other["rows"] = "2";
  EXPECT_NE(HashOfFlags(other), HashOfFlags(flags));
}

TEST(ConfigHashTest, OfFlagsIsNotOfWhoIsMeasuredAndWhatIsWritten) {
  std::map<std::string, std::string> flags = {{"rates", "700"}};
  const std::string hash = HashOfFlags(flags);
  for (const char* name : {"address", "json", "label", "metrics", "fail-if"}) {
    flags[name] = "x";
  }
  EXPECT_EQ(HashOfFlags(flags), hash);
}

TEST(ConfigHashTest, OlderFilesHaveNone) { EXPECT_EQ(HashOfFlags({}), ""); }

}  // namespace
}  // namespace ferry::bench

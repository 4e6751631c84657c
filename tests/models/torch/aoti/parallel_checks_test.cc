// Tests which sources have checks where a throw cannot be caught.
#include "models/torch/aoti/parallel_checks.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ferry {
namespace {

constexpr char kCheck[] =
    "AOTI_TORCH_CHECK((0 <= tmp7) & (tmp7 < 100L), \"index out of bounds\");\n";
constexpr char kAssert[] =
    "(tmp1 ? 0 : (throw std::runtime_error(\"ok\"), 0));\n";

std::string Region(const std::string& inside,
                   const std::string& pragma = "    #pragma omp parallel\n") {
  return absl::StrCat(pragma,
                      "    {\n        #pragma omp for\n"
                      "        for(int64_t x0=0L; x0<ks0; x0+=1L)\n"
                      "        {\n            {\n",
                      inside, "            }\n        }\n    }\n");
}

std::string Error(const std::string& symbol,
                  const std::vector<std::string>& sources) {
  const std::string library = absl::StrCat("code", std::string(1, '\0'), symbol,
                                           std::string(1, '\0'), "code");
  return std::string(
      CheckParallelRegions(
          {reinterpret_cast<const std::byte*>(library.data()), library.size()},
          sources)
          .message());
}

TEST(ParallelChecksTest, CheckInARegionIsRefusedWithWhatToDo) {
  for (const char* check : {kCheck, kAssert}) {
    EXPECT_THAT(
        Error("GOMP_parallel", {"void f() {}\n", Region(check)}),
        testing::AllOf(testing::HasSubstr("parallel loops check values"),
                       testing::HasSubstr("cpp.threads = 1")));
    EXPECT_NE(Error("__kmpc_fork_call", {Region(check)}), "");
    EXPECT_NE(Error("GOMP_parallel",
                    {Region(check, "#pragma omp parallel num_threads(2)\n")}),
              "");
    EXPECT_NE(
        Error("GOMP_parallel",
              {absl::StrCat("#pragma omp parallel for num_threads(2)\n",
                            "for(int64_t x0=0L; x0<ks0; x0+=1L)\nfor(;;)\n{\n",
                            check, "}\n")}),
        "");
  }
}

TEST(ParallelChecksTest, CheckOutsideOfRegionsIsServed) {
  EXPECT_EQ(Error("GOMP_parallel",
                  {absl::StrCat("if (1) {\n", kCheck, "}\n", Region("a;\n"),
                                kCheck, Region("b;\n"), kAssert)}),
            "");
}

TEST(ParallelChecksTest, LibraryWithoutRegionsIsServedWhateverItChecks) {
  EXPECT_EQ(Error("omp_get_num_threads", {kCheck}), "");
  EXPECT_EQ(Error("omp_get_num_threads", {Region(kCheck)}), "");
}

TEST(ParallelChecksTest, RegionsThatNoSourceShowsAreRefused) {
  EXPECT_THAT(Error("GOMP_parallel", {kCheck}),
              testing::HasSubstr("parallel loops check values"));
}

}  // namespace
}  // namespace ferry

// Tests the log as JSON, and that of what gRPC calls errors one a second is
// told.
#include "server/log.h"

#include <fcntl.h>
#include <grpc/support/log.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ferry {
namespace {

using Json = nlohmann::json;

// Logs into a file while it lives; the log takes both streams for itself.
class Streams {
 public:
  explicit Streams(const std::string& path)
      : out_(dup(STDOUT_FILENO)), err_(dup(STDERR_FILENO)) {
    const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    dup2(file, STDERR_FILENO);
    close(file);
  }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  ~Streams() {
    dup2(out_, STDOUT_FILENO);
    dup2(err_, STDERR_FILENO);
    close(out_);
    close(err_);
  }

 private:
  const int out_;
  const int err_;
};

TEST(Log, JsonIsAnObjectALineWhateverIsLogged) {
  const std::string path =
      ::testing::TempDir() + "log." + std::to_string(getpid());
  const std::vector<std::string> texts = {"plain",
                                          "\"quoted\" and \\ back",
                                          "two\nlines\r\n",
                                          "\x1b[31m red",
                                          "broken \xff\xfe UTF-8",
                                          "b\u00f6se \u202e",
                                          std::string(100'000, 'x')};
  {
    const Streams streams(path);
    gpr_log_verbosity_init();  // by the environment, as grpc_init() does
    StartLog({.level = "info", .format = LogFormat::kJson});
    for (const std::string& text : texts) {
      spdlog::info("{}", text);
    }
    for (int i = 0; i < 3; ++i) {
      gpr_log(GPR_ERROR, "failure %d", i);
    }
    std::printf("of a library\n");
    FlushLog();
  }
  std::ifstream file(path);
  std::vector<Json> records;
  for (std::string line; std::getline(file, line);) {
    for (const char c : line) {
      ASSERT_TRUE(c >= ' ' && c <= '~') << line;
    }
    records.push_back(Json::parse(line));
  }
  unlink(path.c_str());
  ASSERT_EQ(records.size(), texts.size() + 2);
  for (size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].size(), 3U);
    EXPECT_EQ(records[i]["level"], i < texts.size() ? "info" : "warning");
  }
  for (const size_t sound : {0, 1, 2, 3, 5}) {
    EXPECT_EQ(records[sound]["message"], texts[sound]);
  }
  EXPECT_EQ(records[6]["message"].get<std::string>().size(), 64U << 10);
  const std::string grpc = records[texts.size()]["message"];
  EXPECT_EQ(grpc.find("grpc: failure 0;"), 0U) << grpc;
  EXPECT_EQ(records.back()["message"], "a library wrote: of a library");
  EXPECT_EQ(GrpcErrors(), 3U);
}

}  // namespace
}  // namespace ferry

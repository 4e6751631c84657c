// Tests what becomes of texts that are written to files.
#include "server/trace/trace_sink.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace ferry {
namespace {

// A file of this process, which is not there.
std::string Path(const std::string& name) {
  std::string path = testing::TempDir() + "trace_sink_test." +
                     std::to_string(getpid()) + "." + name;
  std::filesystem::remove(path);
  return path;
}

TEST(TraceFile, LinesAreAppended) {
  const std::string path = Path("jsonl");
  std::filesystem::remove(path);
  for (const char* line : {"one\n", "two\n"}) {
    auto file = OpenTraceFile("--trace-file", path);
    ASSERT_TRUE(file.ok());
    EXPECT_TRUE((*file)->Write(line));
  }
  std::ostringstream all;
  all << std::ifstream(path).rdbuf();
  EXPECT_EQ(all.str(), "one\ntwo\n");
  std::filesystem::remove(path);
}

TEST(TraceFile, WhatCannotBeOpenedOrWrittenIsTold) {
  EXPECT_EQ(OpenTraceFile("--access-log", "/no/such/folder/x").status(),
            absl::UnavailableError("--access-log: cannot open "
                                   "'/no/such/folder/x': No such file or "
                                   "directory"));
  auto full = OpenTraceFile("--trace-file", "/dev/full");
  ASSERT_TRUE(full.ok());
  EXPECT_FALSE((*full)->Write("one\n"));
}

TEST(TraceFile, PipeThatIsReadTakesMoreThanItHolds) {
  const std::string path = Path("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  auto file = OpenTraceFile("--access-log", path);
  ASSERT_TRUE(file.ok());
  std::string text(1 << 20, 'x');
  text.back() = '\n';
  std::string all;
  std::thread thread([&] {
    std::string some(1 << 16, '\0');
    pollfd pipe = {.fd = reader, .events = POLLIN, .revents = 0};
    while (all.size() < text.size() && poll(&pipe, 1, -1) > 0) {
      const ssize_t count = read(reader, some.data(), some.size());
      all.append(some, 0, static_cast<size_t>(std::max<ssize_t>(count, 0)));
    }
  });
  EXPECT_TRUE((*file)->Write(text));
  thread.join();
  EXPECT_EQ(all, text);
  close(reader);
  std::filesystem::remove(path);
}

// A full pipe takes a part of a text.
TEST(TraceFile, LineThatWasCutEndsBeforeTheNext) {
  const std::string path = Path("cut");
  std::filesystem::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(OpenTraceFile("--trace-file", path).status().code(),
            absl::StatusCode::kUnavailable)
      << "nothing reads it";
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  auto file = OpenTraceFile("--trace-file", path);
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE((*file)->Write(std::string(1 << 20, 'x')));
  std::string all(2 << 20, '\0');
  ASSERT_GT(read(reader, all.data(), all.size()), 0);
  EXPECT_TRUE((*file)->Write("whole\n"));
  all.resize(static_cast<size_t>(
      std::max<ssize_t>(read(reader, all.data(), all.size()), 0)));
  EXPECT_EQ(all, "\nwhole\n");
  close(reader);
  std::filesystem::remove(path);
}

// A collector that answers each post with the next code.
class PlayedCollector {
 public:
  explicit PlayedCollector(std::vector<int> codes) : codes_(std::move(codes)) {
    server_.Post("/v1/traces", [this](const httplib::Request& request,
                                      httplib::Response& reply) {
      bodies.push_back(request.body);
      types.push_back(request.get_header_value("Content-Type"));
      reply.status = codes_[bodies.size() - 1];
    });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) {
      std::this_thread::yield();
    }
  }
  ~PlayedCollector() {
    server_.stop();
    thread_.join();
  }

  TraceEndpoint endpoint() const {
    return {.text = "", .host = "127.0.0.1", .port = port_};
  }

  // After the posts they are of.
  std::vector<std::string> bodies;
  std::vector<std::string> types;

 private:
  const std::vector<int> codes_;
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
};

TEST(Collector, TakesWhatItAnswersWithTwoHundredAlone) {
  PlayedCollector played({200, 503, 202});
  const auto collector = OpenCollector(played.endpoint());
  EXPECT_TRUE(collector->Write("{\"a\":1}"));
  EXPECT_FALSE(collector->Write("{}"));
  EXPECT_TRUE(collector->Write("{}")) << "on the connection that is kept";
  EXPECT_EQ(played.bodies.front(), "{\"a\":1}");
  EXPECT_EQ(played.types.front(), "application/json");
}

TEST(Collector, OneThatIsGoneTakesNothing) {
  auto played = std::make_unique<PlayedCollector>(std::vector<int>{200});
  const auto collector = OpenCollector(played->endpoint());
  EXPECT_TRUE(collector->Write("{}"));
  played.reset();
  EXPECT_FALSE(collector->Write("{}"));
}

}  // namespace
}  // namespace ferry

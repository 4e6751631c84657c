// Tests what becomes of texts that are written to files.
#include "server/trace/trace_sink.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "absl/status/status.h"

namespace ferry {
namespace {

TEST(TraceFile, LinesAreAppended) {
  const std::string path = testing::TempDir() + "tracer_test.jsonl";
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

// A full pipe takes a part of a text.
TEST(TraceFile, LineThatWasCutEndsBeforeTheNext) {
  const std::string path = testing::TempDir() + "tracer_test.pipe";
  std::filesystem::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(OpenTraceFile("--trace-file", path).status().code(),
            absl::StatusCode::kUnavailable)
      << "nothing reads it";
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  auto file = OpenTraceFile("--trace-file", path);
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE((*file)->Write(std::string(1 << 20, 'x') + "\n"));
  std::string all(2 << 20, '\0');
  ASSERT_GT(read(reader, all.data(), all.size()), 0);
  EXPECT_TRUE((*file)->Write("whole\n"));
  all.resize(static_cast<size_t>(
      std::max<ssize_t>(read(reader, all.data(), all.size()), 0)));
  EXPECT_EQ(all, "\nwhole\n");
  close(reader);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace ferry

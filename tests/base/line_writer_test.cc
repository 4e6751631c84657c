// Tests that LineWriter writes in order, and never waits for a reader.
#include "base/line_writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>

#include "absl/strings/str_cat.h"

namespace ferry {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr Duration kLong = std::chrono::seconds(60);

std::string Dropped(uint64_t count) {
  return absl::StrCat("dropped ", count, "\n");
}

// A pipe of one page, of which the test is the reader.
class Pipe {
 public:
  Pipe() {
    EXPECT_EQ(pipe(ends_), 0);
    EXPECT_EQ(fcntl(ends_[1], F_SETPIPE_SZ, kBytes), kBytes);
  }
  ~Pipe() {
    CloseReader();
    close(ends_[1]);
  }

  static constexpr int kBytes = 4096;

  int writer() const { return ends_[1]; }
  void CloseReader() {
    if (ends_[0] >= 0) {
      close(ends_[0]);
      ends_[0] = -1;
    }
  }
  // Returns what was written, up to and with the text; waits for it.
  std::string ReadUntil(const std::string& text) {
    std::string read_so_far;
    char byte = 0;
    while (read_so_far.find(text) == std::string::npos &&
           read(ends_[0], &byte, 1) == 1) {
      read_so_far += byte;
    }
    return read_so_far;
  }
  // Returns the next `size` bytes; waits for them.
  std::string Read(size_t size) {
    std::string read_so_far;
    char byte = 0;
    while (read_so_far.size() < size && read(ends_[0], &byte, 1) == 1) {
      read_so_far += byte;
    }
    return read_so_far;
  }

 private:
  int ends_[2] = {-1, -1};
};

TEST(LineWriter, WritesLinesInOrder) {
  Pipe pipe;
  LineWriter writer(pipe.writer(), 1 << 20, Dropped);
  std::string expected;
  for (int i = 0; i < 100; ++i) {
    writer.Write(absl::StrCat("line ", i, "\n"));
    absl::StrAppend(&expected, "line ", i, "\n");
  }
  EXPECT_EQ(pipe.ReadUntil("line 99\n"), expected);
  EXPECT_TRUE(writer.FlushBy(Clock::Steady().Now() + kLong));
  EXPECT_EQ(writer.dropped(), 0u);
}

TEST(LineWriter, DropsWhereNoneReadsAndSaysHowManyOnceItIsRead) {
  Pipe pipe;
  LineWriter writer(pipe.writer(), 1 << 16, Dropped);
  const std::string line(1000, 'x');
  for (int i = 0; i < 1000; ++i) {  // a megabyte; each returns
    writer.Write(absl::StrCat(line, "\n"));
  }
  const uint64_t dropped = writer.dropped();
  EXPECT_GT(dropped, 900u);
  EXPECT_LT(dropped, 1000u);
  EXPECT_FALSE(writer.FlushBy(Clock::Steady().Now())) << "does not wait longer";
  // How many were dropped is said behind what was first taken to be written,
  // which may be some of the lines or all.
  const std::string read =
      pipe.Read((1000 - dropped) * (line.size() + 1) + Dropped(dropped).size());
  EXPECT_THAT(read, HasSubstr(Dropped(dropped)));
  EXPECT_TRUE(writer.FlushBy(Clock::Steady().Now() + kLong));
  writer.Write("flows\n");
  EXPECT_EQ(pipe.ReadUntil("flows\n"), "flows\n") << "said once";
}

TEST(LineWriter, EndsWhileItsThreadIsStuck) {
  Pipe pipe;
  {
    LineWriter writer(pipe.writer(), 1 << 20, Dropped);
    writer.Write(absl::StrCat(std::string(3 * Pipe::kBytes, 'x'), "\n"));
    writer.Write("last\n");
  }
  EXPECT_THAT(pipe.ReadUntil("last\n"), HasSubstr("x\nlast\n"))
      << "what was queued is written all the same";
}

TEST(LineWriter, CountsWhatCannotBeWritten) {
  Pipe pipe;
  pipe.CloseReader();
  LineWriter writer(pipe.writer(), 1 << 20, Dropped);
  writer.Write("nowhere\n");  // SIGPIPE would end the test
  EXPECT_TRUE(writer.FlushBy(Clock::Steady().Now() + kLong));
  EXPECT_EQ(writer.dropped(), 1u);
}

TEST(LineWriter, WaitsForRoomWhereTheDescriptorDoesNotBlock) {
  Pipe pipe;
  ASSERT_EQ(fcntl(pipe.writer(), F_SETFL, O_NONBLOCK), 0);
  LineWriter writer(pipe.writer(), 1 << 20, Dropped);
  writer.Write(absl::StrCat(std::string(3 * Pipe::kBytes, 'x'), "\n"));
  EXPECT_THAT(pipe.ReadUntil("\n"), StartsWith("xxx"));
  EXPECT_TRUE(writer.FlushBy(Clock::Steady().Now() + kLong));
  EXPECT_EQ(writer.dropped(), 0u);
}

}  // namespace
}  // namespace ferry

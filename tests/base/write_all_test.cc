// Tests WriteAll: pipes that are full, and what cannot be written.
#include "base/write_all.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>

#include "base/owned_fd.h"

namespace ferry {
namespace {

constexpr size_t kBeyondAPipe = 1 << 20;

struct Pipe {
  Pipe() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    read_end = OwnedFd(ends[0]);
    write_end = OwnedFd(ends[1]);
  }

  std::string ReadAll() const {
    std::string all(2 * kBeyondAPipe, '\0');
    size_t size = 0;
    while (true) {
      const ssize_t got =
          read(read_end.get(), all.data() + size, all.size() - size);
      if (got == 0) {
        all.resize(size);
        return all;
      }
      size += got > 0 ? static_cast<size_t>(got) : 0;
    }
  }

  OwnedFd read_end;
  OwnedFd write_end;
};

std::string Text() {
  std::string text;
  while (text.size() < kBeyondAPipe) {
    text += std::to_string(text.size()) + ' ';
  }
  return text;
}

// Writes more than a pipe holds, while another thread reads.
void WriteThrough(Pipe& pipe) {
  const std::string text = Text();
  std::string read_text;
  std::thread reader([&] { read_text = pipe.ReadAll(); });
  EXPECT_EQ(WriteAll(pipe.write_end.get(), text), 0);
  pipe.write_end.Close();
  reader.join();
  EXPECT_EQ(read_text, text);
}

TEST(WriteAll, WritesMoreThanAPipeHolds) {
  Pipe pipe;
  WriteThrough(pipe);
}

TEST(WriteAll, WaitsForRoomWhereTheDescriptorDoesNotBlock) {
  Pipe pipe;
  ASSERT_EQ(fcntl(pipe.write_end.get(), F_SETFL, O_NONBLOCK), 0);
  WriteThrough(pipe);
}

TEST(WriteAll, WritesNothingOfAnEmptyText) {
  Pipe pipe;
  EXPECT_EQ(WriteAll(pipe.write_end.get(), ""), 0);
  pipe.write_end.Close();
  EXPECT_EQ(pipe.ReadAll(), "");
}

TEST(WriteAll, SaysWhyItCannotWrite) {
  EXPECT_EQ(WriteAll(-1, "a"), EBADF);
  const OwnedFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  EXPECT_EQ(WriteAll(full.get(), "a"), ENOSPC);
}

}  // namespace
}  // namespace ferry

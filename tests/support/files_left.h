// FilesLeft bounds how many files the process can open, for tests of what
// happens where there are too few.
#ifndef FERRY_TESTS_SUPPORT_FILES_LEFT_H_
#define FERRY_TESTS_SUPPORT_FILES_LEFT_H_

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace ferry {

// Returns the descriptor that the next file gets.
inline int NextFile() {
  const int fd = dup(STDERR_FILENO);
  close(fd);
  return fd;
}

// The process can open `count` more files while it lives.
class FilesLeft {
 public:
  explicit FilesLeft(rlim_t count) {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit bound = before_;
    bound.rlim_cur = static_cast<rlim_t>(NextFile()) + count;
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &bound), 0);
  }
  FilesLeft(const FilesLeft&) = delete;
  FilesLeft& operator=(const FilesLeft&) = delete;
  ~FilesLeft() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

}  // namespace ferry

#endif  // FERRY_TESTS_SUPPORT_FILES_LEFT_H_

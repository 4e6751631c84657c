// SharedObject is an object of shared memory, as a client makes it.
//
// Thread safety: thread-compatible.
#ifndef FERRY_TESTS_SERVER_CODEC_SHARED_OBJECT_H_
#define FERRY_TESTS_SERVER_CODEC_SHARED_OBJECT_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/owned_fd.h"

namespace ferry {

class SharedObject {
 public:
  explicit SharedObject(off_t bytes)
      : key_(absl::StrCat("/ferry-test-", getpid(), "-", ++count_)),
        fd_(shm_open(key_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600)) {
    EXPECT_GE(fd_.get(), 0);
    Resize(bytes);
  }
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;
  ~SharedObject() { Unlink(); }

  const std::string& key() const { return key_; }
  void Resize(off_t bytes) { EXPECT_EQ(ftruncate(fd_.get(), bytes), 0); }
  void Unlink() { shm_unlink(key_.c_str()); }

  void Write(off_t offset, const std::string& bytes) {
    EXPECT_EQ(pwrite(fd_.get(), bytes.data(), bytes.size(), offset),
              static_cast<ssize_t>(bytes.size()));
  }
  std::string Read(off_t offset, size_t size) {
    std::string bytes(size, '\0');
    EXPECT_EQ(pread(fd_.get(), bytes.data(), size, offset),
              static_cast<ssize_t>(size));
    return bytes;
  }

 private:
  static inline int count_ = 0;
  const std::string key_;
  const OwnedFd fd_;
};

}  // namespace ferry

#endif  // FERRY_TESTS_SERVER_CODEC_SHARED_OBJECT_H_

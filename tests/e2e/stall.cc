// A library that is preloaded lets a folder stall, as a network file system
// does whose server is gone, or a thread: while the file FERRY_STALL_WHILE is
// there, calls that name a path in FERRY_STALL_FOLDER wait, and threads named
// FERRY_STALL_THREAD that wait for sockets do not return.
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr useconds_t kPollMicros = 10'000;

void StallWhileSigned() {
  const char* const sign = std::getenv("FERRY_STALL_WHILE");
  while (sign != nullptr && access(sign, F_OK) == 0) {
    usleep(kPollMicros);
  }
}

void StallAt(const char* path) {
  const char* const folder = std::getenv("FERRY_STALL_FOLDER");
  if (folder != nullptr &&
      std::strncmp(path, folder, std::strlen(folder)) == 0) {
    StallWhileSigned();
  }
}

void StallThread() {
  const char* const stalls = std::getenv("FERRY_STALL_THREAD");
  char name[16] = "";
  if (stalls != nullptr &&
      pthread_getname_np(pthread_self(), name, sizeof(name)) == 0 &&
      std::strcmp(name, stalls) == 0) {
    StallWhileSigned();
  }
}

template <typename Function>
Function* Next(const char* name, Function*) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int stat(const char* path, struct stat* about) {
  StallAt(path);
  return Next("stat", &stat)(path, about);
}

int poll(pollfd* files, nfds_t count, int timeout) {
  const int ready = Next("poll", &poll)(files, count, timeout);
  StallThread();
  return ready;
}

int epoll_wait(int epoll, epoll_event* events, int most, int timeout) {
  const int ready =
      Next("epoll_wait", &epoll_wait)(epoll, events, most, timeout);
  StallThread();
  return ready;
}

// The standard library's streams open files by it.
FILE* fopen64(const char* path, const char* mode) {
  StallAt(path);
  return Next("fopen64", &fopen64)(path, mode);
}

// What comes after the flags is of no use without O_CREAT.
int open(const char* path, int flags, ...) {
  StallAt(path);
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  return Next("open", &open)(path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  StallAt(path);
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  return Next("openat", &openat)(folder, path, flags, mode);
}

}  // extern "C"

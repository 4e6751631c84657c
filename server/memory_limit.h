// MemoryLimit() returns how much memory this process may use.
//
// Thread safety: free functions.
#ifndef FERRY_SERVER_MEMORY_LIMIT_H_
#define FERRY_SERVER_MEMORY_LIMIT_H_

#include <cstdint>
#include <string>

namespace ferry {

// Returns the least of what the process's control groups allow (cgroup v2 or
// v1: containers, systemd's MemoryMax) and the machine has, in bytes. `root`:
// where /proc and /sys are.
int64_t MemoryLimit(const std::string& root = "");

// Returns the default of --grpc-memory-bytes: a quarter of the limit, but room
// for the queue of a model, whose requests lie where gRPC received them, and
// two of the largest messages, and no more than 16 of these or 1 GiB beyond
// that.
int64_t DefaultGrpcMemory(int64_t memory_limit, int64_t max_message_bytes,
                          int64_t queue_bytes);

}  // namespace ferry

#endif  // FERRY_SERVER_MEMORY_LIMIT_H_

// GrpcTarget sends prepared requests to a server as asynchronous ModelInfer
// calls and never looks into the replies.
//
// One completion queue a thread; connections are spread over the queues. A call
// costs the client one channel operation, no serialization and no copy of the
// tensors.
//
// Thread safety: thread-safe.
#ifndef FERRY_BENCH_CLIENT_GRPC_TARGET_H_
#define FERRY_BENCH_CLIENT_GRPC_TARGET_H_

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "bench/client/connection.h"
#include "bench/client/request_class.h"
#include "bench/load/target.h"

namespace ferry::bench {

struct GrpcTargetOptions {
  std::string address;  // host:port
  ConnectionOptions connection = {};
  int32_t connections = 2;
  int32_t queues = 2;
  // From one number that is sent to the next: connections take turns.
  uint64_t number_step = 1;
};

// The requests of one class, sent in turn.
struct ClassRequests {
  std::vector<grpc::ByteBuffer> requests;
  double weight = 1;
  Duration deadline{0};     // of each call; 0: none
  double cancel_share = 0;  // of the calls, cancelled that long after the send
  Duration cancel_after{0};
};

class GrpcTarget final : public Target {
 public:
  // Sends requests[number % size] of the number's class. Connects before it
  // returns: UNAVAILABLE when that takes longer than `connect_limit`.
  static absl::StatusOr<std::unique_ptr<GrpcTarget>> Create(
      const GrpcTargetOptions& options, std::vector<ClassRequests> classes,
      Duration connect_limit);

  ~GrpcTarget() override;

  void Send(uint64_t number, Caller& caller) override;
  void CancelAll() override;
  size_t class_count() const override { return classes_.size(); }
  size_t ClassOf(uint64_t number) const override {
    return classes_.size() == 1 ? 0 : picker_.ClassOf(number);
  }

 private:
  class Tag;
  class Rpc;
  struct Connection;

  GrpcTarget(const GrpcTargetOptions& options,
             std::vector<ClassRequests> classes);

  absl::Status Connect(Duration limit);
  static void Serve(grpc::CompletionQueue* queue);

  const GrpcTargetOptions options_;
  const std::vector<ClassRequests> classes_;
  const ClassPicker picker_;
  std::vector<std::unique_ptr<grpc::CompletionQueue>> queues_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<std::thread> threads_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_CLIENT_GRPC_TARGET_H_

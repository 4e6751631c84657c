// EchoQueues serves QueueEchoService on completion queues, a thread each.
//
// Thread safety: thread-compatible; one thread starts and stops it.
#ifndef FERRY_BENCH_MICRO_ECHO_QUEUES_H_
#define FERRY_BENCH_MICRO_ECHO_QUEUES_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <thread>
#include <vector>

#include "bench/micro/echo_service.h"
#include "bench/micro/model_stand_in.h"

namespace ferry::bench {

enum class EchoAnswer { kFixed, kByCopy };

class EchoQueues {
 public:
  // Runs `stand_in` before each answer. `service` and `stand_in` must outlive
  // this. REQUIRES: queue_count >= 1.
  EchoQueues(QueueEchoService* service, const EchoModel& model,
             EchoAnswer answer, ModelStandIn* stand_in,
             grpc::ServerBuilder* builder, int queue_count);
  EchoQueues(const EchoQueues&) = delete;
  EchoQueues& operator=(const EchoQueues&) = delete;
  // REQUIRES: the server was shut down, if Start() was called.
  ~EchoQueues();

  // Posts the first calls and starts the threads. REQUIRES: the server built
  // by `builder` is running.
  void Start();

 private:
  class Call;

  void PostSmallCalls(grpc::ServerCompletionQueue* queue);
  void Serve(grpc::ServerCompletionQueue* queue);

  QueueEchoService* const service_;
  const EchoModel model_;
  const EchoAnswer answer_;
  const grpc::Slice reply_;
  ModelStandIn* const stand_in_;
  std::vector<std::unique_ptr<grpc::ServerCompletionQueue>> queues_;
  std::vector<std::thread> threads_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_MICRO_ECHO_QUEUES_H_

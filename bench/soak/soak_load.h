// SoakLoad sends a mixed load to a server: Poisson arrivals with bursts, of
// differing row counts, some cancelled at random times, some with random gRPC
// deadlines, some wrong. A SoakLedger keeps account.
//
// Thread safety: thread-compatible; Stop() from any thread.
#ifndef FERRY_BENCH_SOAK_SOAK_LOAD_H_
#define FERRY_BENCH_SOAK_SOAK_LOAD_H_

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "bench/client/connection.h"
#include "bench/load/pacer.h"
#include "bench/soak/reply_checker.h"
#include "bench/soak/soak_ledger.h"

namespace ferry::bench {

struct SoakOptions {
  std::string address;
  ConnectionOptions connection = {};
  double rate = 1000;  // requests/s outside bursts
  double burst_factor = 5;
  Duration burst_every = Milliseconds(10000);
  Duration burst_length = Milliseconds(1000);
  Duration duration = Milliseconds(600000);
  int32_t max_outstanding = 4096;
  double cancelled_share = 0.15;  // of right requests, cancelled by the client
  double deadline_share = 0.15;   // of right requests, with a deadline
  double wrong_share = 0.02;
  Duration longest_cancel = Milliseconds(30);
  Duration longest_deadline = Milliseconds(60);
  uint64_t seed = 1;
};

// What may be sent: right requests with what answers them, and wrong ones.
struct SoakRequests {
  std::vector<grpc::ByteBuffer> right;
  std::vector<grpc::ByteBuffer> wrong;
};

class SoakLoad {
 public:
  // `checker` knows requests.right by index, and outlives this.
  SoakLoad(const SoakOptions& options, SoakRequests requests,
           const ReplyChecker& checker);
  ~SoakLoad();

  // Sends until the duration is over or Stop(), then waits for every answer.
  // Calls `every_second` about once a second. Returns the account.
  SoakAccount Run(const std::function<void(Duration elapsed)>& every_second);

  void Stop() { stopped_.store(true, std::memory_order_relaxed); }

  SoakAccount account() const { return ledger_.account(); }

 private:
  class Rpc;

  void SendOne(TimePoint now);
  Duration NextGap(Duration elapsed);
  void CancelDue(TimePoint now);
  void Answered(Rpc& rpc);
  void Serve();
  size_t outstanding() const;
  double Uniform() { return std::uniform_real_distribution<>()(random_); }

  const SoakOptions options_;
  const SoakRequests requests_;
  const ReplyChecker& checker_;
  SoakLedger ledger_;
  SteadyPacer pacer_;
  std::atomic<bool> stopped_{false};
  // The sending thread's.
  std::mt19937_64 random_;
  std::multimap<TimePoint, uint64_t> cancels_;  // when, which

  mutable Mutex mutex_;
  std::unordered_map<uint64_t, Rpc*> running_ ABSL_GUARDED_BY(mutex_);

  std::shared_ptr<grpc::Channel> channel_;
  grpc::GenericStub stub_;
  grpc::CompletionQueue queue_;
  std::thread thread_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_SOAK_SOAK_LOAD_H_

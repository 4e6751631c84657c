// AdminClient asks ferry.v1.Admin of a running server, which needs --admin-rpc,
// by blocking calls.
//
// Thread safety: thread-safe.
// Errors: the call's status, with what the server says; UNIMPLEMENTED says what
// the server lacks.
#ifndef FERRY_BENCH_CLIENT_ADMIN_CLIENT_H_
#define FERRY_BENCH_CLIENT_ADMIN_CLIENT_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "bench/client/connection.h"
#include "proto/admin.grpc.pb.h"

namespace ferry::bench {

class AdminClient {
 public:
  // `address` is host:port or unix:FILE; a call takes `limit` at most.
  AdminClient(const std::string& address, ConnectionOptions connection,
              Duration limit);

  absl::StatusOr<v1::RuntimeOptions> Get(
      const v1::GetRuntimeOptionsRequest& request) const;

  // Returns those that are in force from now on.
  absl::StatusOr<v1::RuntimeOptions> Set(
      const v1::SetRuntimeOptionsRequest& request) const;

  // Returns when the drain has begun.
  absl::Status Drain() const;

 private:
  // Calls one of the stub's methods.
  template <typename Response, typename Method, typename Request>
  absl::StatusOr<Response> Call(Method method, const Request& request) const;

  const ConnectionOptions connection_;
  const Duration limit_;
  const std::unique_ptr<v1::Admin::Stub> stub_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_CLIENT_ADMIN_CLIENT_H_

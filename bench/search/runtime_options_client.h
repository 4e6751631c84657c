// RuntimeOptionsClient turns the runtime options of a running server, which
// needs --admin-rpc.
//
// Thread safety: thread-safe.
// Errors: the call's status; UNIMPLEMENTED says what the server lacks.
#ifndef FERRY_BENCH_SEARCH_RUNTIME_OPTIONS_CLIENT_H_
#define FERRY_BENCH_SEARCH_RUNTIME_OPTIONS_CLIENT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/client/admin_client.h"
#include "bench/report/runtime_grid.h"

namespace ferry::bench {

class RuntimeOptionsClient {
 public:
  // `address` is host:port; the latest version of `model` is turned.
  RuntimeOptionsClient(const std::string& address, std::string model,
                       ConnectionOptions connection = {});

  absl::StatusOr<RuntimeSetting> Get() const;
  absl::Status Set(const RuntimeSetting& setting) const;

 private:
  const std::string model_;
  const AdminClient admin_;
};

// Turns the server back to what it was. Tries twice: one that was overloaded a
// moment ago may be slow to answer.
absl::Status Restore(const RuntimeOptionsClient& runtime_options,
                     const RuntimeSetting& own);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_SEARCH_RUNTIME_OPTIONS_CLIENT_H_

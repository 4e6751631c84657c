// Implements SendGoaways() through a function that gRPC's library exports and
// its headers do not declare.
#include "server/grpc/goaway.h"

#include <grpcpp/alarm.h>

#include "absl/synchronization/notification.h"

namespace grpc_core {

// What is used here of the class behind grpc_server.
class Server {
 public:
  void SendGoaways();
};

}  // namespace grpc_core

namespace ferry {

void SendGoaways(grpc::Server& server) {
  absl::Notification sent;
  grpc::Alarm alarm;
  // It has to be called by a thread of gRPC's, which then does what it began.
  alarm.Set(gpr_inf_past(GPR_CLOCK_MONOTONIC), [&](bool) {
    reinterpret_cast<grpc_core::Server*>(server.c_server())->SendGoaways();
    sent.Notify();
  });
  sent.WaitForNotification();
}

}  // namespace ferry

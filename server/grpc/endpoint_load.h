// EndpointLoad holds what replies tell balancers of the server's load, as ORCA
// has it: xds.data.orca.v3.OrcaLoadReport in the trailer
// endpoint-load-metrics-bin (cncf/xds, orca_load_report.proto; gRFC A51).
// gRPC's and Envoy's weighted round robin weigh an endpoint by rps_fractional /
// application_utilization. Rows a second over the load is the capacity, so that
// each endpoint gets the share of requests that it carries.
//
// Thread safety: Set() from one thread at a time, Trailer() from any.
#ifndef FERRY_SERVER_GRPC_ENDPOINT_LOAD_H_
#define FERRY_SERVER_GRPC_ENDPOINT_LOAD_H_

#include <string>

#include "base/relaxed_copy.h"
#include "server/control/load_meter.h"

namespace ferry {

class EndpointLoad {
 public:
  static constexpr char kTrailer[] = "endpoint-load-metrics-bin";

  void Set(const ServerLoad& load) { load_.Store(load); }

  // Returns the message; empty while the load is not known.
  std::string Trailer() const;

 private:
  RelaxedCopy<ServerLoad> load_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_GRPC_ENDPOINT_LOAD_H_

// TransportMetrics() tells what the connections, the gRPC threads and the
// control thread of a server do, what memory it has, and which clients it
// refused.
//
// Thread safety: a free function; what it is given outlives the call.
#ifndef FERRY_SERVER_METRICS_TRANSPORT_METRICS_H_
#define FERRY_SERVER_METRICS_TRANSPORT_METRICS_H_

#include <prometheus/metric_family.h>

#include <memory>
#include <vector>

#include "server/auth/gatekeeper.h"
#include "server/control/model_control.h"
#include "server/grpc/grpc_endpoint.h"
#include "server/net/acceptor.h"
#include "server/trace/tracer.h"

namespace ferry {

// `tracer`: null: nothing is traced.
std::vector<prometheus::MetricFamily> TransportMetrics(
    const std::vector<std::unique_ptr<Acceptor>>& acceptors,
    const Gatekeeper& keeper, const GrpcEndpoint::Admission& admission,
    const GrpcEndpoint& grpc, const ModelControl& control,
    const Tracer* tracer);

}  // namespace ferry

#endif  // FERRY_SERVER_METRICS_TRANSPORT_METRICS_H_

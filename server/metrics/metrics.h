// ServerMetrics exports what the schedulers count as Prometheus metrics, made
// at each scrape. Nothing is counted twice and nothing on the request path is
// touched.
//
// Names carry the words of batcher/statistics.h: ferry_queue_wait_seconds,
// ferry_stage_seconds, ferry_compute_seconds, ferry_deliver_seconds,
// ferry_request_seconds. The model label comes from the served set, never from
// a request.
//
// Thread safety: Collect() from any thread.
#ifndef FERRY_SERVER_METRICS_METRICS_H_
#define FERRY_SERVER_METRICS_METRICS_H_

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <string>
#include <vector>

#include "batcher/statistics.h"
#include "server/control/model_table.h"
#include "server/control/readiness.h"
#include "server/grpc/unsent_replies.h"
#include "server/metrics/metric_families.h"

namespace ferry {

class ServerMetrics final : public prometheus::Collectable {
 public:
  // All outlive it.
  ServerMetrics(const ModelTable& models, const Readiness& readiness,
                const UnsentReplies& unsent, Buckets buckets)
      : models_(models),
        readiness_(readiness),
        unsent_(unsent),
        buckets_(buckets) {}

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const ModelTable& models_;
  const Readiness& readiness_;
  const UnsentReplies& unsent_;
  const Buckets buckets_;
};

// Returns the families in Prometheus's text format 0.0.4.
std::string ToPrometheusText(
    const std::vector<prometheus::MetricFamily>& families);

}  // namespace ferry

#endif  // FERRY_SERVER_METRICS_METRICS_H_

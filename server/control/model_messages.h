// These functions say, over gRPC and HTTP alike, what is known of the server
// and of a model.
//
// Thread safety: free functions.
// Errors: of Find...() and Is...(), those of ModelTable::Find().
#ifndef FERRY_SERVER_CONTROL_MODEL_MESSAGES_H_
#define FERRY_SERVER_CONTROL_MODEL_MESSAGES_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "proto/inference.pb.h"
#include "server/control/model_table.h"
#include "server/control/readiness.h"

namespace ferry {

void FillServerMetadata(inference::ServerMetadataResponse& metadata);

// A model that batches has -1 as first dimension. Version "": the latest, with
// all versions that are served.
absl::StatusOr<inference::ModelMetadataResponse> FindMetadata(
    const ModelTable& models, const std::string& name,
    const std::string& version);

// Whether the model takes requests; false where it is not served. Errors:
// INVALID_ARGUMENT for a version that is none.
absl::StatusOr<bool> IsModelReady(const ModelTable& models,
                                  const Readiness& readiness,
                                  const std::string& name,
                                  const std::string& version);

// Fills name, version and all that was counted under them; requests that were
// refused have failed. `now` is the moment of the snapshot on the scheduler's
// clock.
void FillModelStatistics(const ModelEntry& entry, const ModelCounts& counts,
                         TimePoint now, inference::ModelStatistics& statistics);

}  // namespace ferry

#endif  // FERRY_SERVER_CONTROL_MODEL_MESSAGES_H_

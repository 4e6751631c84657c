// FillModelMetadata() and FillModelStatistics() say what is known of a model.
//
// Thread safety: free functions.
#ifndef FERRY_SERVER_CONTROL_MODEL_MESSAGES_H_
#define FERRY_SERVER_CONTROL_MODEL_MESSAGES_H_

#include "base/clock.h"
#include "models/repository/served_model.h"
#include "proto/inference.pb.h"
#include "server/control/model_table.h"

namespace ferry {

// Fills all but the versions. A model that batches has -1 as first dimension.
void FillModelMetadata(const ServedModel& model,
                       inference::ModelMetadataResponse& metadata);

// Fills name, version and all that was counted under them; requests that were
// refused have failed. `now` is the moment of the snapshot on the scheduler's
// clock.
void FillModelStatistics(const ModelEntry& entry, const ModelCounts& counts,
                         TimePoint now, inference::ModelStatistics& statistics);

}  // namespace ferry

#endif  // FERRY_SERVER_CONTROL_MODEL_MESSAGES_H_

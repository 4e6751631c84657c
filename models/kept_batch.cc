// Implements KeptBatch: copies dims and bytes, and makes a batch of them.
#include "models/kept_batch.h"

namespace ferry {

KeptBatch::Input::Input(const TensorView& view)
    : dims(view.dims.begin(), view.dims.end()),
      padded_dims(view.padded_dims.begin(), view.padded_dims.end()) {
  for (const ByteSegment& piece : view.segments) {
    bytes.insert(bytes.end(), piece.data, piece.data + piece.size);
  }
  segment = {bytes.data(), bytes.size()};
}

KeptBatch::Request::Request(const InferRequest& original) {
  for (const TensorView& view : original.inputs) {
    const Input& input = inputs.emplace_back(view);
    views.push_back({.dims = input.dims,
                     .segments = {&input.segment, view.is_given ? 1U : 0U},
                     .is_bytes = view.is_bytes,
                     .is_given = view.is_given,
                     .padded_dims = input.padded_dims});
  }
  request.inputs = views;
  request.rows = original.rows;
  request.bytes = original.bytes;
  request.shape_key = original.shape_key;
}

KeptBatch::KeptBatch(const Batch& batch)
    : batch_(static_cast<int32_t>(batch.entries().size()), batch.rows()) {
  for (const Batch::Entry& entry : batch.entries()) {
    batch_.Add(requests_.emplace_back(*entry.request).request);
  }
  batch_.Close(Clock::Steady().Now(), CloseReason::kFull, 0);
}

}  // namespace ferry

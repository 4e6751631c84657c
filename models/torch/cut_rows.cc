// Implements CopyCutRows, chunk by chunk.
#include "models/torch/cut_rows.h"

#include <ATen/Functions.h>

#include <cstring>

#include "models/torch/types.h"
#include "tensor/host_output_pool.h"
#include "tensor/padding.h"

namespace ferry {

void CopyCutRows(const Batch& batch, const ModelSpec& spec, size_t output,
                 const at::Tensor& padded, OutputBuffer& buffer) {
  const TensorSpec& told = spec.outputs[output];
  const size_t input = *told.follows;
  const size_t varying = *VaryingDim(spec.inputs[input].dims);
  const auto size_of = [&](const Batch::Entry& entry) {
    return entry.request->inputs[input].dims[varying];
  };
  const size_t cut = *VaryingDim(told.dims);
  const RowChunks chunks = ChunksOf(told.dims, cut);
  int64_t elements = 0;
  for (const Batch::Entry& entry : batch.entries()) {
    elements += entry.rows * chunks.count * size_of(entry) * chunks.inner;
  }
  const size_t index_bytes =
      static_cast<size_t>(chunks.inner) * ElementSize(told.type);
  HostOutputPool::LayoutBytes(
      buffer, output, static_cast<size_t>(elements) * ElementSize(told.type),
      told.dims);
  OutputTensor& tensor = buffer.mutable_tensors()[output];
  const at::Tensor all = padded.to(ToScalarType(told.type)).contiguous();
  const size_t padded_bytes =
      static_cast<size_t>(all.size(static_cast<int64_t>(cut) + 1)) *
      index_bytes;
  const auto* from = static_cast<const std::byte*>(all.data_ptr());
  std::byte* to = tensor.data;
  for (const Batch::Entry& entry : batch.entries()) {
    const size_t bytes = static_cast<size_t>(size_of(entry)) * index_bytes;
    for (int32_t row = 0; row < entry.rows; ++row) {
      tensor.row_starts.push_back(static_cast<size_t>(to - tensor.data));
      for (int64_t i = 0; i < chunks.count; ++i) {
        std::memcpy(to, from, bytes);
        from += padded_bytes;
        to += bytes;
      }
    }
  }
  tensor.row_starts.push_back(static_cast<size_t>(to - tensor.data));
}

}  // namespace ferry

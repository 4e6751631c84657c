// CopyCutRows leaves off what padding added: each row of an output gets the
// size that its request brought.
//
// Thread safety: free function.
// Errors: may throw what LibTorch throws, and std::bad_alloc.
#ifndef FERRY_MODELS_TORCH_CUT_ROWS_H_
#define FERRY_MODELS_TORCH_CUT_ROWS_H_

#include <ATen/core/Tensor.h>

#include <cstddef>

#include "batcher/batch.h"
#include "tensor/output_buffer.h"
#include "tensor/tensor.h"

namespace ferry {

// Lays out output `output` of the buffer and copies the batch's rows of it, cut
// and cast to the spec's type. `padded`: [rows or more, dims with the size that
// the followed input has in the batch]. REQUIRES: the output follows an input.
void CopyCutRows(const Batch& batch, const ModelSpec& spec, size_t output,
                 const at::Tensor& padded, OutputBuffer& buffer);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_CUT_ROWS_H_

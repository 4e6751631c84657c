// IsMatrixKernel says by a kernel's name whether it multiplies matrices (as do
// convolutions and attention), IsOfBf16 whether in bf16. Names are those of
// cuBLAS, cuDNN, CUTLASS and LibTorch for sm_80 to sm_100, mangled or not:
//
//   ampere_bf16_s16816gemm_bf16_128x64_..., sm90_xmma_gemm_bf16bf16_...
//   nvjet_tst_128x64_..., nvjet_sm100_tst_...: of cuBLAS since 12.3. The
//   letters
//     are the types that it multiplies, sums up and gives: t bf16, h fp16,
//     s fp32, q fp8.
//   sm90_xmma_fprop_implicit_gemm_bf16bf16_..., cutlass_tensorop_bf16_...
//   gemv2T_kernel_val<.., __nv_bfloat16, ..>
//   fmha_cutlassF_bf16_..., flash_fwd_kernel<.. cutlass::bfloat16_t ..>
//
// cuDNN's attention, cudnn_generated_fort_native_sdpa_..., says f16 whichever
// of both types of 16 bits it is, and is left out.
//
// Thread safety: free functions.
#ifndef FERRY_TESTS_GPU_KERNEL_NAMES_H_
#define FERRY_TESTS_GPU_KERNEL_NAMES_H_

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string>

namespace ferry {

inline std::string InLowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char one) {
    return static_cast<char>(std::tolower(one));
  });
  return text;
}

inline bool HasAny(const std::string& text,
                   std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* word) {
    return text.find(word) != std::string::npos;
  });
}

inline bool IsMatrixKernel(const std::string& name) {
  const std::string text = InLowerCase(name);
  if (HasAny(text, {"sdpa", "splitkreduce", "elementwise"})) {
    return false;
  }
  return HasAny(text, {"gemm", "gemv", "fprop", "xmma", "nvjet", "cutlass",
                       "wgmma", "fmha", "flash_fwd", "winograd", "convolve",
                       "implicit_conv", "conv2d"});
}

// REQUIRES: IsMatrixKernel().
inline bool IsOfBf16(const std::string& name) {
  const std::string text = InLowerCase(name);
  const std::string jet = "nvjet_";
  if (const size_t at = text.find(jet); at != std::string::npos) {
    std::string types = text.substr(at + jet.size());
    if (types.rfind("sm", 0) == 0 && types.size() > 2 &&
        std::isdigit(static_cast<unsigned char>(types[2])) != 0) {
      types = types.substr(std::min(types.find('_'), types.size() - 1) + 1);
    }
    return types.rfind('t', 0) == 0;
  }
  return HasAny(text, {"bf16", "bfloat16"});
}

}  // namespace ferry

#endif  // FERRY_TESTS_GPU_KERNEL_NAMES_H_

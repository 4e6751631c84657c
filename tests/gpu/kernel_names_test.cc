// Tests kernel_names.h on names of both kinds, as profilers have shown them.
#include "tests/gpu/kernel_names.h"

#include <gtest/gtest.h>

#include <string>

namespace ferry {
namespace {

TEST(KernelNames, ProductsInBf16) {
  for (const std::string name :
       {"nvjet_tst_128x64_64x8_2x1_v_bz_coopA_TNN",
        "nvjet_tss_64x8_64x16_4x1_v_bz_splitK_TNT",
        "nvjet_sm90_tst_mma_64x16x64_1_64x16x64_tmaAB_bz_TNT",
        "nvjet_sm100_tst_128x128_64x6_2x1_2cta_h_bz_TNT",
        "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_tn",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_"
        "warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
        "_ZN7cutlass7Kernel2I60cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_"
        "16x16_128x2_tn_align8EEvNT_6ParamsE",
        "_Z17gemv2T_kernel_valIii13__nv_bfloat16S0_S0_fLi128ELi16ELi4ELi4E",
        "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_"
        "tilesize128x64x64_warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__"
        "5x_cudnn",
        "_ZN13cutlass_cudnn6KernelI54cutlass_tensorop_bf16_s16816fprop_"
        "optimized_bf16_64x64_64x5_nhwc_align8EEvNT_6ParamsE",
        "void implicit_convolve_sgemm<__nv_bfloat16, __nv_bfloat16, 128, 5, 5>",
        "fmha_cutlassF_bf16_aligned_64x64_rf_sm80",
        "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<32, 128, "
        "128, 4, false, false, cutlass::bfloat16_t>>"}) {
    EXPECT_TRUE(IsMatrixKernel(name)) << name;
    EXPECT_TRUE(IsOfBf16(name)) << name;
  }
}

TEST(KernelNames, ProductsInOtherTypes) {
  for (const std::string name :
       {"nvjet_sss_128x64_64x8_2x1_v_bz_TNN",
        "nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NNT",
        "nvjet_qqtst_128x128_128x6_2x1_v_bz_TNT",
        "nvjet_sm100_sss_128x128_64x6_2x1_2cta_h_bz_TNT", "nvjet_", "nvjet_sm9",
        "ampere_sgemm_128x64_tn", "ampere_fp16_s16816gemm_fp16_128x64_tn",
        "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x16_cublas",
        "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc",
        "_Z17gemv2T_kernel_valIiifffLi128ELi16ELi4ELi4E",
        "void implicit_convolve_sgemm<float, float, 128, 5, 5>",
        "cudnn_infer_ampere_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t",
        "void conv2d_grouped_direct_kernel<float, float, float>",
        "fmha_cutlassF_f32_aligned_64x64_rf_sm80"}) {
    EXPECT_TRUE(IsMatrixKernel(name)) << name;
    EXPECT_FALSE(IsOfBf16(name)) << name;
  }
}

// Theirs is not the type that is asked for, whatever they say of it.
TEST(KernelNames, WhatMultipliesNothing) {
  for (const std::string name :
       {"_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_15CUDAFunctor_"
        "addIN3c108BFloat16EEESt5arrayIPcLm3EEEEviT0_T1_",
        "_ZN2at6native12_GLOBAL__N_132vectorized_layer_norm_kernelIN3c108BFloat"
        "16EfEEviT0_PKT_S7_S7_PS5_S8_PS4_",
        "_ZN8cublasLt19splitKreduce_kernelILi32ELi16Eif13__nv_bfloat16f",
        "void cudnn::ops::nchwToNhwcKernel<__nv_bfloat16, float, true>",
        "void cudnn::ops::convertTensor_kernel<float, __nv_bfloat16>",
        "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3_"
        "64x64x64_kernel0_0",
        "max_pool_forward_nhwc", "softmax_warp_forward", ""}) {
    EXPECT_FALSE(IsMatrixKernel(name)) << name;
  }
}

}  // namespace
}  // namespace ferry

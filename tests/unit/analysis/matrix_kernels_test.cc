#include "daemon/analysis/findings/matrix_kernels.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

TEST(MatrixKernelsTest, AreToldByTheirNames) {
  struct Case {
    const char* name;
    MatrixKernel kernel;
  };
  const Case cases[] = {
      {"ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x1_nn", MatrixKernel::kUnits},
      {"volta_fp16_s884gemm_fp16_128x64_ldg8_f2f_nn", MatrixKernel::kUnits},
      {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_warpgroupsize1x1x1", MatrixKernel::kUnits},
      {"nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNT", MatrixKernel::kUnits},
      {"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4> >", MatrixKernel::kUnits},
      {"void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x256_16x3_nt_align4>", MatrixKernel::kUnits},
      {"Cijk_Ailk_Bljk_HHS_BH_MT128x128x32_MI32x32x8x1_SN_1LDSB0", MatrixKernel::kUnits},
      {"volta_sgemm_128x64_nn", MatrixKernel::kPlain},
      {"void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>", MatrixKernel::kPlain},
      {"volta_scudnn_128x64_relu_interior_nn_v1", MatrixKernel::kPlain},
      {"void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, true>", MatrixKernel::kPlain},
      {"void gemv2T_kernel_val<int, int, float>", MatrixKernel::kUnknown},
      {"Cijk_Ailk_Bljk_SB_MT64x64x8_SN_1LDSB0", MatrixKernel::kUnknown},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float> >", MatrixKernel::kNone},
      {"triton_poi_fused_add_0", MatrixKernel::kNone},
      {"", MatrixKernel::kNone},
  };
  for (const Case& one : cases) EXPECT_EQ(MatrixKernelOf(one.name), one.kernel) << one.name;
}

}  // namespace
}  // namespace kprof

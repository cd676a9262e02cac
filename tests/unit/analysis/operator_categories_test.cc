#include "daemon/analysis/functions/host/operator_categories.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string_view>

namespace kprof {
namespace {

TEST(OperatorCategories, AreToldByNames) {
  struct Case {
    const char* category;
    std::initializer_list<const char*> names;
  };
  const Case cases[] = {
      {"gemm",
       {"aten::mm", "aten::addmm", "aten::bmm", "aten::linear", "aten::_scaled_mm", "AddmmBackward0", "MmBackward0",
        "autograd::engine::evaluate_function: AddmmBackward0", "vllm::moe_forward", "triton_tem_fused_mm_3",
        "vllm::cutlass_scaled_mm", "vllm::gptq_gemm"}},
      {"convolution",
       {"aten::conv2d", "aten::_convolution", "aten::convolution_backward", "aten::cudnn_convolution",
        "ConvolutionBackward0", "aten::conv_transpose2d", "aten::_conv_depthwise2d"}},
      {"attention",
       {"aten::scaled_dot_product_attention", "aten::_flash_attention_forward", "vllm::unified_attention_with_output",
        "flash_attn::_flash_attn_forward", "aiter::fmha_fwd"}},
      {"normalisation",
       {"aten::layer_norm", "aten::native_layer_norm", "aten::cudnn_batch_norm_backward", "CudnnBatchNormBackward0",
        "_C::fused_add_rms_norm", "aiter::_groupnorm_run", "triton_per_fused_native_layer_norm_0"}},
      {"elementwise",
       {"aten::add_", "aten::mul", "aten::relu", "ReluBackward0", "aten::_foreach_add_", "aten::fill_", "aten::normal_",
        "triton_poi_fused_convolution_relu_2", "aten::threshold_backward", "_C::rotary_embedding",
        "torch::autograd::AccumulateGrad", "_C::silu_and_mul", "aten::nan_to_num", "aten::upsample_nearest2d",
        "_C::static_scaled_fp8_quant", "aten::log"}},
      {"reduction",
       {"aten::sum", "aten::mean", "aten::max", "aten::linalg_vector_norm", "aten::_softmax", "aten::_log_softmax",
        "LogSoftmaxBackward0", "aten::max_pool2d_with_indices", "aten::nll_loss_forward", "aten::all",
        "triton_red_fused_add_mean_mul_pow_rsqrt_0"}},
      {"communication",
       {"c10d::allreduce_", "c10d::broadcast_", "_c10d_functional::all_reduce", "symm_mem::multimem_all_reduce_",
        "vllm::all_reduce", "record_param_comms", "All2All_Pooled_Req", "nccl:all_gather"}},
      {"copy",
       {"aten::copy_", "aten::_to_copy", "aten::to", "aten::clone", "aten::contiguous", "aten::cat",
        "aten::_local_scalar_dense", "aten::index_select", "aten::_foreach_copy_", "aten::embedding",
        "_C_cache_ops::reshape_and_cache_flash", "aten::constant_pad_nd"}},
      {"other",
       {"aten::empty", "aten::view", "aten::nonzero", "", "::", "Pregraph bytecode", "TorchDynamo Cache Lookup",
        "aten::as_strided"}},
  };
  for (const Case& one : cases) {
    for (const std::string_view name : one.names) {
      EXPECT_EQ(OperatorCategoryName(CategoryOfOperator(name)), one.category) << name;
    }
  }
}

}  // namespace
}  // namespace kprof

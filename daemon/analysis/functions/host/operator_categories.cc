#include "daemon/analysis/functions/host/operator_categories.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>

namespace kprof {
namespace {

constexpr std::string_view kCategoryNames[kOperatorCategories] = {
    "gemm", "convolution", "attention", "normalisation", "elementwise", "reduction", "communication", "copy", "other"};

// Pieces of names as WordsOfName makes them. The first category of kByPieces with one of these has the operator.
constexpr std::string_view kOfCommunication[] = {
    "_nccl_",          "_rccl_",         "_gloo_",      "_all_reduce", "_allreduce", "_all_gather", "_allgather",
    "_reduce_scatter", "_reducescatter", "_all_to_all", "_alltoall",   "_all2_all_", "_all2all",    "_param_comms_"};
constexpr std::string_view kOfAttention[] = {"attention", "_attn_", "_fmha", "_sdpa_"};
constexpr std::string_view kOfConvolution[] = {"_conv_", "_conv1d", "_conv2d", "_conv3d", "convolution"};
constexpr std::string_view kOfGemm[] = {"_mm_",  "_addmm_", "_bmm_",    "_baddbmm_", "_addbmm_", "_matmul_",
                                        "_gemm", "gemm_",   "_mv_",     "_addmv_",   "_dot_",    "_vdot_",
                                        "_moe_", "_addr_",  "_linear_", "_experts_"};
constexpr std::string_view kOfNormalisation[] = {"batch_norm",    "batchnorm",   "layer_norm",   "layernorm",
                                                 "group_norm",    "groupnorm",   "rms_norm",     "rmsnorm",
                                                 "instance_norm", "weight_norm", "response_norm"};
constexpr std::string_view kOfCopy[] = {"_copy_",       "_clone_",    "_contiguous_", "_cat_",
                                        "_stack_",      "_to_",       "_type_as_",    "_item_",
                                        "_pin_memory_", "_gather_",   "_index_",      "_local_scalar_dense_",
                                        "_scatter_",    "_embedding", "_and_cache_",  "_repeat_",
                                        "_pad_",        "_flip_",     "_roll_",       "_take_"};
constexpr std::string_view kOfReduction[] = {
    "_sum_",    "_mean_",    "_max_",    "_min_",     "_amax_",          "_amin_", "_aminmax_", "_argmax_",
    "_argmin_", "_prod_",    "_any_",    "_all_",     "_norm_",          "_var_",  "_std_",     "softmax",
    "_loss_",   "logsumexp", "_cumsum_", "_cumprod_", "_cross_entropy_", "pool",   "_topk_",    "_median_"};
constexpr std::string_view kOfElementwise[] = {
    "_add_",       "_sub_",     "_rsub_",     "_mul_",       "_div_",     "_neg_",    "_abs_",   "_exp_",
    "_log_",       "_log1p_",   "_sqrt_",     "_rsqrt_",     "_pow_",     "_square_", "_sin_",   "_cos_",
    "_tanh_",      "_sigmoid_", "relu",       "_gelu_",      "_silu_",    "_elu_",    "_glu_",   "_swiglu_",
    "hardswish",   "_mish_",    "_softplus_", "_threshold",  "_clamp",    "_where_",  "_fill_",  "_zero_",
    "_zeros_",     "_ones_",    "_full_",     "_eq_",        "_ne_",      "_lt_",     "_le_",    "_gt_",
    "_ge_",        "_maximum_", "_minimum_",  "_floor_",     "_ceil_",    "_round_",  "_sign_",  "_erf_",
    "_lerp_",      "_addcmul_", "_addcdiv_",  "_bitwise_",   "_logical_", "_isnan_",  "_isinf_", "_nan_to_num_",
    "dropout",     "_normal_",  "_uniform_",  "_bernoulli_", "_random_",  "_rand_",   "_randn_", "_arange_",
    "_tril_",      "_triu_",    "upsample",   "_rotary_",    "_quant_",   "_adam",    "_sgd_",   "_accumulate_grad_",
    "_reciprocal_"};

struct PiecesOfCategory {
  OperatorCategory category;
  std::span<const std::string_view> pieces;
};
constexpr PiecesOfCategory kByPieces[] = {
    {OperatorCategory::kCommunication, kOfCommunication}, {OperatorCategory::kAttention, kOfAttention},
    {OperatorCategory::kConvolution, kOfConvolution},     {OperatorCategory::kGemm, kOfGemm},
    {OperatorCategory::kNormalisation, kOfNormalisation}, {OperatorCategory::kReduction, kOfReduction},
    {OperatorCategory::kElementwise, kOfElementwise},     {OperatorCategory::kCopy, kOfCopy},
};

// Operators of these are communication, whatever they are called.
constexpr std::string_view kCommunicationSpaces[] = {"c10d::", "_c10d_functional::", "symm_mem::", "nccl:"};

bool IsUpper(char c) {
  return c >= 'A' && c <= 'Z';
}

bool IsLetterOrDigit(char c) {
  return IsUpper(c) || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

// "aten::add_" becomes "_add_", "CudnnBatchNormBackward0" "_cudnn_batch_norm_backward0_".
std::string WordsOfName(std::string_view name) {
  const size_t space = name.rfind("::");
  if (space != std::string_view::npos) name.remove_prefix(space + 2);
  std::string words = "_";
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool begins_word = !IsLetterOrDigit(c) || (IsUpper(c) && i > 0 && !IsUpper(name[i - 1]));
    if (begins_word && words.back() != '_') words += '_';
    if (IsLetterOrDigit(c)) words += IsUpper(c) ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (words.back() != '_') words += '_';
  return words;
}

bool HasPieceOf(const std::string& words, std::span<const std::string_view> pieces) {
  return std::any_of(pieces.begin(), pieces.end(),
                     [&](std::string_view piece) { return words.find(piece) != std::string::npos; });
}

// Inductor says what sort of kernel it made; behind that stands what was fused, convolutions for their bias alone.
OperatorCategory CategoryOfInductor(std::string_view name, const std::string& words) {
  if (name.starts_with("triton_tem")) {
    return HasPieceOf(words, kOfAttention) ? OperatorCategory::kAttention : OperatorCategory::kGemm;
  }
  if (name.starts_with("triton_red") || name.starts_with("triton_per")) {
    return HasPieceOf(words, kOfNormalisation) ? OperatorCategory::kNormalisation : OperatorCategory::kReduction;
  }
  return OperatorCategory::kElementwise;
}

}  // namespace

std::string_view OperatorCategoryName(OperatorCategory category) {
  return kCategoryNames[static_cast<size_t>(category)];
}

OperatorCategory CategoryOfOperator(std::string_view name) {
  const auto begins = [name](std::string_view space) { return name.starts_with(space); };
  if (std::any_of(std::begin(kCommunicationSpaces), std::end(kCommunicationSpaces), begins)) {
    return OperatorCategory::kCommunication;
  }
  const std::string words = WordsOfName(name);
  const bool is_of_inductor = begins("triton_poi") || begins("triton_red") || begins("triton_per") ||
                              begins("triton_tem") || begins("triton_for");
  if (is_of_inductor) return CategoryOfInductor(name, words);
  for (const PiecesOfCategory& one : kByPieces) {
    if (HasPieceOf(words, one.pieces)) return one.category;
  }
  return OperatorCategory::kOther;
}

}  // namespace kprof

// The kind of work that an operator of PyTorch does, told by its name: what people ask for first ("how much of it are
// matrix products?").
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kprof {

enum class OperatorCategory : uint8_t {
  kGemm,  // matrix products
  kConvolution,
  kAttention,
  kNormalisation,  // of batches, layers, groups; softmax is a reduction
  kElementwise,
  kReduction,
  kCommunication,  // between ranks
  kCopy,           // also casts, gathers and scatters
  kOther,
};
constexpr size_t kOperatorCategories = 9;

// "gemm", "convolution", "attention", "normalisation", "elementwise", "reduction", "communication", "copy", "other".
std::string_view OperatorCategoryName(OperatorCategory category);

// `name` without numbers of its call: see NameOfCall. Backward passes ("AddmmBackward0") are as their operators are,
// and generated kernels ("triton_poi_fused_...") as Inductor names them.
OperatorCategory CategoryOfOperator(std::string_view name);

}  // namespace kprof

// Which environment variables of a profiled process an import keeps: those that say how a GPU program was set up. All
// others are dropped where they are read, as traces are passed on and environments hold what nobody would pass on.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace kprof {

inline constexpr std::string_view kKeptEnvironment[] = {
    "CUDA_",
    "CUBLAS_",
    "CUDNN_",
    "NCCL_",
    "NVTE_",
    "NVIDIA_TF32_",
    "TORCH_",
    "PYTORCH_",
    "TORCHINDUCTOR_",
    "XLA_",
    "JAX_",
    "TF_",
    "TRITON_",
    "OMP_",
    "MKL_",
    "KMP_",
    "OPENBLAS_",
    "HIP_",
    "ROCR_",
    "HSA_",
    "RCCL_",
    "MIOPEN_",
    "TENSILE_",
    "NEURON_",
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "NODE_RANK",
    "GROUP_RANK",
    "UCX_TLS",
    "VLLM_USE_",
    "VLLM_ATTENTION_",
};

// Names that say of themselves that their values are not to be passed on, whatever they begin with; and those that tell
// where a job runs, or from where its files are.
inline constexpr std::string_view kNeverKept[] = {
    "KEY",  "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH", "PRIVATE", "COOKIE", "SESSION",
    "ADDR", "HOST",  "URL",    "URI",  "USER",       "HOME", "DIR",     "PATH",   "FILE",
};

inline bool IsKeptEnvironment(std::string_view name) {
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c; });
  const auto never = [&](std::string_view part) { return upper.find(part) != upper.npos; };
  if (std::any_of(std::begin(kNeverKept), std::end(kNeverKept), never)) return false;
  // One that ends in an underscore begins names, another is one.
  return std::any_of(std::begin(kKeptEnvironment), std::end(kKeptEnvironment),
                     [&](std::string_view kept) { return kept.back() == '_' ? name.starts_with(kept) : name == kept; });
}

}  // namespace kprof

#include "daemon/runs/stored_environment.h"

#include <algorithm>
#include <array>

namespace kprof {
namespace {

constexpr size_t kValueLimitBytes = 4096;

constexpr std::array<std::string_view, 19> kNames = {"PATH",
                                                     "LD_LIBRARY_PATH",
                                                     "PYTHONPATH",
                                                     "VIRTUAL_ENV",
                                                     "CONDA_DEFAULT_ENV",
                                                     "CONDA_PREFIX",
                                                     "LANG",
                                                     "TZ",
                                                     "RANK",
                                                     "LOCAL_RANK",
                                                     "WORLD_SIZE",
                                                     "LOCAL_WORLD_SIZE",
                                                     "GROUP_RANK",
                                                     "NODE_RANK",
                                                     "HOSTNAME",
                                                     "MALLOC_ARENA_MAX",
                                                     "LD_PRELOAD",
                                                     "TRITON_CACHE_DIR",
                                                     "PYTHONHASHSEED"};

constexpr std::array<std::string_view, 19> kPrefixes = {
    "LC_",  "CUDA_", "NVIDIA_", "NCCL_", "NEURON_", "NEURONCORE_", "XLA_", "TORCH_",  "PYTORCH_",  "OMP_",
    "MKL_", "ROCR_", "HIP_",    "GOMP_", "TRITON_", "FI_",         "JAX_", "TF_XLA_", "SLURM_JOB_"};

// A word of a name that suggests that its value is nobody else's business, whatever list the name is on.
constexpr std::array<std::string_view, 9> kSecretWords = {"TOKEN",      "SECRET", "PASSWORD", "PASSWD", "KEY",
                                                          "CREDENTIAL", "AUTH",   "COOKIE",   "PRIVATE"};

}  // namespace

bool IsStoredVariable(std::string_view name) {
  for (std::string_view word : kSecretWords) {
    if (name.find(word) != std::string_view::npos) return false;
  }
  if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) return true;
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

std::vector<std::pair<std::string, std::string>> StoredEnvironment(const std::vector<std::string>& environment) {
  std::vector<std::pair<std::string, std::string>> stored;
  for (const std::string& entry : environment) {
    size_t equals = entry.find('=');
    if (equals == std::string::npos || !IsStoredVariable(std::string_view(entry).substr(0, equals))) continue;
    stored.emplace_back(entry.substr(0, equals), entry.substr(equals + 1, kValueLimitBytes));
  }
  std::sort(stored.begin(), stored.end());
  return stored;
}

}  // namespace kprof

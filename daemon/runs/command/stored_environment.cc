#include "daemon/runs/command/stored_environment.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "daemon/runs/command/secret_value.h"

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

// Parts of names, whatever list the name is on. PASS is also PASSWORD and PASSWD, CRED also CREDENTIAL.
constexpr std::array<std::string_view, 14> kSecretWords = {"TOKEN", "SECRET",    "PASS",    "PWD",     "KEY",
                                                           "CRED",  "AUTH",      "COOKIE",  "PRIVATE", "BEARER",
                                                           "JWT",   "SIGNATURE", "LICENSE", "CERT"};
constexpr std::array<std::string_view, 2> kFoldersOfTheShell = {"PWD", "OLDPWD"};

}  // namespace

bool IsSecretName(std::string_view name) {
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  if (std::find(kFoldersOfTheShell.begin(), kFoldersOfTheShell.end(), upper) != kFoldersOfTheShell.end()) return false;
  return std::any_of(kSecretWords.begin(), kSecretWords.end(),
                     [&](std::string_view word) { return upper.find(word) != std::string::npos; });
}

bool IsStoredVariable(std::string_view name) {
  if (IsSecretName(name)) return false;
  if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) return true;
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

std::vector<std::pair<std::string, std::string>> StoredEnvironment(const std::vector<std::string>& environment) {
  std::vector<std::pair<std::string, std::string>> stored;
  for (const std::string& entry : environment) {
    size_t equals = entry.find('=');
    if (equals == std::string::npos || !IsStoredVariable(std::string_view(entry).substr(0, equals))) continue;
    if (LooksSecret(std::string_view(entry).substr(equals + 1))) continue;
    stored.emplace_back(entry.substr(0, equals), entry.substr(equals + 1, kValueLimitBytes));
  }
  std::sort(stored.begin(), stored.end());
  return stored;
}

}  // namespace kprof

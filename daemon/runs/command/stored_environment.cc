#include "daemon/runs/command/stored_environment.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace kprof {
namespace {

bool IsLetterOrDigit(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

bool IsWordCharacter(char c) {
  return IsLetterOrDigit(c) || c == '_' || c == '-';
}

// What an issuer begins its tokens with, and how many letters and digits follow at least. Long enough that no name of a
// folder is taken for one.
struct Mark {
  std::string_view begin;
  size_t least;
};
constexpr std::array<Mark, 15> kMarks = {{{"ghp_", 30},
                                          {"gho_", 30},
                                          {"ghu_", 30},
                                          {"ghs_", 30},
                                          {"ghr_", 30},
                                          {"github_pat_", 20},
                                          {"glpat-", 16},
                                          {"hf_", 30},
                                          {"sk-", 20},
                                          {"xoxb-", 8},
                                          {"xoxp-", 8},
                                          {"AKIA", 16},
                                          {"ASIA", 16},
                                          {"AIza", 30},
                                          {"eyJ", 30}}};

constexpr std::string_view kPrivateKey = "-----BEGIN";

// What stands before the '=' of a setting ends with one of these.
constexpr std::array<std::string_view, 11> kSettings = {"token",       "secret",     "password",   "passwd",
                                                        "api_key",     "apikey",     "api-key",    "access_key",
                                                        "private_key", "credential", "credentials"};

bool HasMark(std::string_view value, const Mark& mark) {
  for (size_t at = value.find(mark.begin); at != std::string_view::npos; at = value.find(mark.begin, at + 1)) {
    if (at > 0 && IsWordCharacter(value[at - 1])) continue;
    const std::string_view rest = value.substr(at + mark.begin.size());
    const auto end = std::find_if_not(rest.begin(), rest.end(), IsLetterOrDigit);
    if (static_cast<size_t>(end - rest.begin()) >= mark.least) return true;
  }
  return false;
}

bool NamesASecret(std::string_view value) {
  for (size_t equals = value.find('='); equals != std::string_view::npos; equals = value.find('=', equals + 1)) {
    size_t begin = equals;
    while (begin > 0 && IsWordCharacter(value[begin - 1])) --begin;
    std::string name(value.substr(begin, equals - begin));
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    const bool has_value =
        equals + 1 < value.size() && std::isspace(static_cast<unsigned char>(value[equals + 1])) == 0;
    if (has_value && std::any_of(kSettings.begin(), kSettings.end(),
                                 [&](std::string_view setting) { return name.ends_with(setting); })) {
      return true;
    }
  }
  return false;
}

// "scheme://user:password@host": an '@' anywhere after "://", because passwords that should be escaped often are not.
bool HasUrlCredentials(std::string_view value) {
  const size_t url = value.find("://");
  return url != std::string_view::npos && value.find('@', url) != std::string_view::npos;
}

}  // namespace

bool LooksSecret(std::string_view value) {
  return HasUrlCredentials(value) || value.find(kPrivateKey) != std::string_view::npos || NamesASecret(value) ||
         std::any_of(kMarks.begin(), kMarks.end(), [&](const Mark& mark) { return HasMark(value, mark); });
}

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

#include "daemon/launch/launch_digest.h"

#include <algorithm>
#include <array>

#include "daemon/launch/run_variables.h"
#include "storage/crypto/sha256.h"

namespace kprof {
namespace {

// Part of what is summed, so that no sum of another form is ever taken for one of this.
constexpr std::string_view kForm = "kprof launch 2\n";

constexpr std::array<std::string_view, 5> kDaemonsVariables = {kRunIdVariable, kStateVariable, "CUDA_VISIBLE_DEVICES",
                                                               "NEURON_RT_VISIBLE_CORES", "ROCR_VISIBLE_DEVICES"};

// Nothing that a shell, however it is quoted, takes for more than a word.
bool IsPlainDigest(char c) {
  const bool alphanumeric = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return alphanumeric || std::string_view("-_.,:/ ").find(c) != std::string_view::npos;
}

}  // namespace

bool IsDaemonsVariable(std::string_view variable) {
  const size_t equals = variable.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view value = variable.substr(equals + 1);
  return std::find(kDaemonsVariables.begin(), kDaemonsVariables.end(), variable.substr(0, equals)) !=
             kDaemonsVariables.end() &&
         std::all_of(value.begin(), value.end(), IsPlainDigest);
}

std::string LaunchDigest(const LaunchRequest& request) {
  LaunchRequest callers = request;
  std::erase_if(callers.environment, IsDaemonsVariable);
  Sha256 sum;
  sum.Add(kForm);
  sum.Add(EncodeCallersPart(callers));
  return sum.Finish();
}

bool LooksLikeLaunchDigest(std::string_view text) {
  return text.size() == kLaunchDigestLength &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace kprof

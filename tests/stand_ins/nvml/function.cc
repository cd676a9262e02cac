#include "tests/stand_ins/nvml/function.h"

namespace kprof::nvml_stand_in {
namespace {

constexpr const char* kNames[] = {
#define KPROF_NVML_NAME(name) #name,
    KPROF_NVML_FUNCTIONS(KPROF_NVML_NAME)
#undef KPROF_NVML_NAME
};
static_assert(sizeof(kNames) / sizeof(kNames[0]) == kFunctionCount);

bool IsVersionOf(std::string_view full, std::string_view name) {
  constexpr std::string_view kVersion = "_v";
  return full.size() == name.size() + kVersion.size() + 1 && full.substr(0, name.size()) == name &&
         full.substr(name.size(), kVersion.size()) == kVersion;
}

}  // namespace

const char* FunctionName(Function function) {
  const auto index = static_cast<unsigned>(function);
  return index < kFunctionCount ? kNames[index] : "?";
}

std::optional<Function> FindFunction(std::string_view name) {
  for (unsigned i = 0; i < kFunctionCount; ++i) {
    if (name == kNames[i] || IsVersionOf(kNames[i], name)) return static_cast<Function>(i);
  }
  return std::nullopt;
}

}  // namespace kprof::nvml_stand_in

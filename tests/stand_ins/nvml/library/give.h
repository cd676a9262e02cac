// How answers go into callers' buffers: null, too small and fitting ones.
#pragma once

#include <cstring>
#include <vector>

#include "daemon/devices/nvidia/nvml_abi.h"

namespace kprof::nvml_stand_in {

template <typename T>
nvml::Return Give(const T& value, T* into) {
  if (into == nullptr) return nvml::kInvalidArgument;
  *into = value;
  return nvml::kSuccess;
}

inline nvml::Return GiveText(const char* text, char* into, unsigned length) {
  if (into == nullptr) return nvml::kInvalidArgument;
  const size_t bytes = std::strlen(text) + 1;
  if (bytes > length) return nvml::kInsufficientSize;
  std::memcpy(into, text, bytes);
  return nvml::kSuccess;
}

// `count`: how many there is room for, then how many there are. `into` may be null where that says none.
inline nvml::Return GiveNumbers(const std::vector<unsigned>& values, unsigned* count, unsigned* into) {
  if (count == nullptr) return nvml::kInvalidArgument;
  const unsigned room = *count;
  *count = static_cast<unsigned>(values.size());
  if (room < values.size()) return nvml::kInsufficientSize;
  if (into == nullptr) return nvml::kInvalidArgument;
  std::memcpy(into, values.data(), values.size() * sizeof(unsigned));
  return nvml::kSuccess;
}

}  // namespace kprof::nvml_stand_in

// A duration for a message: "90 s", "1.5 s". Pure; any thread.
#pragma once

#include <cstdint>
#include <string>

namespace kprof {

inline std::string SecondsText(int64_t ms) {
  std::string text = std::to_string(ms / 1000);
  if (ms % 1000 != 0) text += "." + std::to_string(1000 + ms % 1000).substr(1);
  return text + " s";
}

}  // namespace kprof

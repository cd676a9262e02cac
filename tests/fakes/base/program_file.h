// A program that a test writes: a script, or what is none.
#pragma once

#include <sys/stat.h>

#include <fstream>
#include <string>

namespace kprof {

inline void WriteProgram(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
  ::chmod(path.c_str(), 0755);
}

}  // namespace kprof

#include "daemon/ingest/ingest_program.h"

#include <unistd.h>

namespace kprof {
namespace {

bool IsNewerProcessor() {
#if defined(__x86_64__) && defined(__clang__) && __clang_major__ < 17  // which do not know levels
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi2") != 0 &&
         __builtin_cpu_supports("fma") != 0;
#elif defined(__x86_64__)
  return __builtin_cpu_supports("x86-64-v3") != 0;
#else
  return false;
#endif
}

}  // namespace

std::string IngestProgramBeside(const std::string& path) {
  const std::string newer = path + "-v3";
  return IsNewerProcessor() && ::access(newer.c_str(), X_OK) == 0 ? newer : path;
}

}  // namespace kprof

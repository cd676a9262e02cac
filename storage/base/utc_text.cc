#include "storage/base/utc_text.h"

#include <ctime>

namespace kprof {

std::string UtcText(int64_t unix_s) {
  const std::time_t time = unix_s;
  std::tm utc{};
  if (::gmtime_r(&time, &utc) == nullptr) return std::to_string(unix_s) + " s";  // no such year
  char text[40];
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc));
}

}  // namespace kprof

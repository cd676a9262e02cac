#include "daemon/systemd/manager_variables.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>

namespace kprof {

std::string TakeVariable(const char* name) {
  const char* value = std::getenv(name);
  std::string text = value != nullptr ? value : "";
  ::unsetenv(name);
  return text;
}

std::optional<int64_t> ReadWholeNumber(std::string_view text) {
  int64_t number = 0;
  const char* end = text.data() + text.size();
  auto [read_to, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || read_to != end || number < 0) return std::nullopt;
  return number;
}

bool IsOwnPid(std::string_view text) {
  return ReadWholeNumber(text) == ::getpid();
}

}  // namespace kprof

#include "storage/catalog/string_list.h"

#include <algorithm>

namespace kprof {

std::string Joined(const std::vector<std::string>& strings) {
  std::string bytes;
  for (const std::string& s : strings) bytes.append(s).push_back('\0');
  return bytes;
}

std::vector<std::string> Split(std::string_view bytes) {
  std::vector<std::string> strings;
  while (!bytes.empty()) {
    size_t end = std::min(bytes.find('\0'), bytes.size());
    strings.emplace_back(bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  return strings;
}

std::string JoinedEnvironment(const std::vector<std::pair<std::string, std::string>>& environment) {
  std::string bytes;
  for (const auto& [name, value] : environment) bytes.append(name).append("=").append(value).push_back('\0');
  return bytes;
}

std::vector<std::pair<std::string, std::string>> SplitEnvironment(std::string_view bytes) {
  std::vector<std::pair<std::string, std::string>> environment;
  for (const std::string& entry : Split(bytes)) {
    size_t equals = std::min(entry.find('='), entry.size());
    environment.emplace_back(entry.substr(0, equals), entry.substr(std::min(equals + 1, entry.size())));
  }
  return environment;
}

}  // namespace kprof

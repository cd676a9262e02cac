#include "storage/base/environment.h"

namespace kprof {

const char* FindVariable(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && entry[name.size()] == '=' && std::string_view(entry).starts_with(name)) {
      return entry.c_str() + name.size() + 1;
    }
  }
  return nullptr;
}

void SetVariable(std::vector<std::string>& environment, const std::string& assignment) {
  std::string_view prefix = std::string_view(assignment).substr(0, assignment.find('=') + 1);
  std::erase_if(environment, [&](const std::string& entry) { return std::string_view(entry).starts_with(prefix); });
  environment.push_back(assignment);
}

}  // namespace kprof

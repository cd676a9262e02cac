#include "daemon/config/complaints.h"

#include <algorithm>

namespace kprof {

void ConfigErrors::AddAt(uint64_t line, const std::string& why) {
  lines_.push_back({line, why});
}

void ConfigErrors::Add(const Status& status) {
  if (!status.ok()) others_.push_back(status);
}

std::vector<Status> ConfigErrors::InOrder() const {
  std::vector<Line> lines = lines_;
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.number < b.number; });
  std::vector<Status> all;
  all.reserve(lines.size() + others_.size());
  for (const Line& line : lines) {
    all.push_back(Fail(ErrorCode::kUsage, file_ + ":" + std::to_string(line.number), line.why));
  }
  all.insert(all.end(), others_.begin(), others_.end());
  return all;
}

}  // namespace kprof

#include "daemon/runs/command/request_checks.h"

#include <algorithm>
#include <cctype>

#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr size_t kLabels = 64;
constexpr size_t kKeyBytes = 64;
constexpr size_t kValueBytes = 1024;

Status RefuseRequest(const std::string& act, std::string why, std::string remedy) {
  return Fail(ErrorCode::kUsage, act, std::move(why), std::move(remedy));
}

bool IsLabelKey(const std::string& key) {
  return !key.empty() && key.size() <= kKeyBytes && std::all_of(key.begin(), key.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-' || c == '/';
  });
}

}  // namespace

Status CheckLabels(const std::map<std::string, std::string>& labels, const std::string& act) {
  constexpr const char* kPutIntoFile = "put what is long into a file, and name that";
  if (labels.size() > kLabels) {
    return RefuseRequest(
        act,
        "the request has " + std::to_string(labels.size()) + " labels, over the limit of " + std::to_string(kLabels),
        kPutIntoFile);
  }
  for (const auto& [key, value] : labels) {
    if (!IsLabelKey(key)) {
      return RefuseRequest(act, "label '" + ClippedText(key, 80) + "' is not a usable name",
                           "use 1 to " + std::to_string(kKeyBytes) + " letters, digits and . _ - /");
    }
    if (value.size() > kValueBytes) {
      return RefuseRequest(act,
                           "label '" + key + "' has " + std::to_string(value.size()) + " bytes, over the limit of " +
                               std::to_string(kValueBytes),
                           kPutIntoFile);
    }
    if (!IsUtf8(value)) {
      return RefuseRequest(act, "the value of label '" + key + "' is not UTF-8",
                           "labels are text; put bytes into a file");
    }
  }
  return OkStatus();
}

Status CheckTimeout(const std::string& field, int64_t timeout_ms, const std::string& act) {
  if (timeout_ms < 0) return RefuseRequest(act, field + " is negative", "give a duration, or none");
  if (timeout_ms > kTimeoutLimitMs)
    return RefuseRequest(act, field + " is over the limit of 30 days", "give less, or none");
  return OkStatus();
}

Status CheckPriority(int64_t priority, const std::string& act) {
  if (priority >= 0 && priority <= kPriorityLimit) return OkStatus();
  return RefuseRequest(
      act, "a priority of " + std::to_string(priority) + " is not between 0 and " + std::to_string(kPriorityLimit),
      "give another, or none");
}

}  // namespace kprof

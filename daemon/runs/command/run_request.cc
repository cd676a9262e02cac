#include "daemon/runs/command/run_request.h"

#include <algorithm>
#include <cctype>

#include "daemon/clocks/locks/clock_policy.h"
#include "daemon/runs/seconds_text.h"
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

namespace {

constexpr const char* kCheckRunAct = "submit run";

Status RefuseRun(std::string why, std::string remedy = {}) {
  return Fail(ErrorCode::kUsage, kCheckRunAct, std::move(why), std::move(remedy));
}

Status RefuseSize(const std::string& field, size_t is, size_t limit, const char* unit,
                  const char* remedy = "put what is long into a file, and name that") {
  return RefuseRun(field + " has " + std::to_string(is) + " " + unit + ", over the limit of " + std::to_string(limit),
                   remedy);
}

Status CheckStrings(const RunRequest& request, const RunRequestLimits& limits) {
  if (request.argv.size() > limits.arguments) {
    return RefuseSize("the command", request.argv.size(), limits.arguments, "arguments");
  }
  if (request.environment.size() > limits.variables) {
    return RefuseSize("the environment", request.environment.size(), limits.variables, "variables");
  }
  if (request.options.size() > limits.options) {
    return RefuseSize("the request", request.options.size(), limits.options, "options");
  }
  if (request.collect.size() > limits.globs) {
    return RefuseSize("the request", request.collect.size(), limits.globs, "names of files to be kept",
                      "use * and ? in fewer of them");
  }
  size_t total_bytes = request.prepare.size() + request.check.size();
  for (const std::string& glob : request.collect) {
    if (glob.empty()) return RefuseRun("a name of files to be kept is empty", "write it like 'out/*.json.gz'");
    if (glob.size() > limits.path_bytes) {
      return RefuseSize("a name of files to be kept", glob.size(), limits.path_bytes, "bytes", "use * and ? in it");
    }
    total_bytes += glob.size() + 1;
  }
  for (const std::string& option : request.options) total_bytes += option.size() + 1;
  const auto holds_nul = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  if (std::any_of(request.collect.begin(), request.collect.end(), holds_nul) ||
      std::any_of(request.options.begin(), request.options.end(), holds_nul) || holds_nul(request.prepare) ||
      holds_nul(request.check)) {
    return RefuseRun("an option, a name of files to be kept, or a command of --prepare or --check holds a zero byte",
                     "leave it out");
  }
  for (const std::string& argument : request.argv) {
    if (argument.find('\0') != std::string::npos)
      return RefuseRun("an argument holds a zero byte", "no program could be given it; leave it out");
    total_bytes += argument.size() + 1;
  }
  for (const std::string& variable : request.environment) {
    if (variable.find('\0') != std::string::npos)
      return RefuseRun("an environment variable holds a zero byte", "no program could be given it; leave it out");
    if (variable.find('=') == std::string::npos || variable[0] == '=') {
      return RefuseRun("environment variable '" + ClippedText(variable, 80) + "' has no name", "write NAME=VALUE");
    }
    total_bytes += variable.size() + 1;
  }
  if (total_bytes > limits.command_bytes) {
    return RefuseSize("the command with its environment", total_bytes, limits.command_bytes, "bytes");
  }
  return OkStatus();
}

}  // namespace

Status CheckRunRequest(const RunRequest& request, const RunRequestLimits& limits) {
  if (request.tool.size() > limits.name_bytes)
    return RefuseSize("the tool", request.tool.size(), limits.name_bytes, "bytes");
  if (request.device.size() > limits.name_bytes) {
    return RefuseSize("the device selector", request.device.size(), limits.name_bytes, "bytes",
                      "name devices by number, or all");
  }
  if (request.cwd.size() > limits.path_bytes) {
    return RefuseSize("the working folder", request.cwd.size(), limits.path_bytes, "bytes");
  }
  if (request.limits.size() > limits.resource_limits) {
    return RefuseSize("the request", request.limits.size(), limits.resource_limits, "resource limits");
  }
  RETURN_IF_ERROR(CheckStrings(request, limits));
  RETURN_IF_ERROR(CheckLabels(request.labels, kCheckRunAct));
  RETURN_IF_ERROR(CheckTimeout("the timeout", request.timeout_ms, kCheckRunAct));
  RETURN_IF_ERROR(CheckTimeout("the queue timeout", request.queue_timeout_ms, kCheckRunAct));
  RETURN_IF_ERROR(CheckTimeout("the time to cool down", request.cool_down_ms, kCheckRunAct));
  if (!request.clocks.empty()) RETURN_IF_ERROR(ParseClockPolicy(request.clocks, kCheckRunAct).status());
  RETURN_IF_ERROR(CheckPriority(request.priority, kCheckRunAct));
  if (request.cwd.empty() || request.cwd[0] != '/') {
    return RefuseRun("the working folder '" + ClippedText(request.cwd, 200) + "' is not an absolute path",
                     "give it from the root on");
  }
  if (request.cwd.find('\0') != std::string::npos)
    return RefuseRun("the working folder holds a zero byte", "no folder has one in its name");
  if (request.idempotency_key.size() > limits.idempotency_key_bytes) {
    return RefuseSize("the idempotency key", request.idempotency_key.size(), limits.idempotency_key_bytes, "bytes");
  }
  return OkStatus();
}

Status CheckLongestRun(int64_t timeout_ms, int64_t longest_ms) {
  if (longest_ms == 0 || timeout_ms <= longest_ms) return OkStatus();
  return Fail(ErrorCode::kUsage, kCheckRunAct,
              "a timeout of " + SecondsText(timeout_ms) + " is over the " + SecondsText(longest_ms) +
                  " that this node lets a run last ([limits] max_run_minutes)",
              "ask for no more than --timeout " + std::to_string(longest_ms / 1000) + "s");
}

}  // namespace kprof

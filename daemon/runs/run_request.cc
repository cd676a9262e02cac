#include "daemon/runs/run_request.h"

#include <algorithm>
#include <cctype>

#include "storage/base/readable_text.h"

namespace kprof {
namespace {

Status Refuse(std::string why, std::string remedy = {}) {
  return Fail(ErrorCode::kUsage, "submit run", std::move(why), std::move(remedy));
}

Status RefuseSize(const std::string& field, size_t is, size_t limit, const char* unit) {
  return Refuse(field + " has " + std::to_string(is) + " " + unit + ", over the limit of " + std::to_string(limit),
                "put what is long into a file, and name that");
}

bool IsLabelKey(const std::string& key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-' || c == '/';
  });
}

Status CheckStrings(const RunRequest& request, const RunRequestLimits& limits) {
  if (request.argv.size() > limits.arguments) {
    return RefuseSize("the command", request.argv.size(), limits.arguments, "arguments");
  }
  if (request.environment.size() > limits.variables) {
    return RefuseSize("the environment", request.environment.size(), limits.variables, "variables");
  }
  size_t total_bytes = 0;
  for (const std::string& argument : request.argv) {
    if (argument.find('\0') != std::string::npos)
      return Refuse("an argument holds a zero byte", "no program could be given it; leave it out");
    total_bytes += argument.size() + 1;
  }
  for (const std::string& variable : request.environment) {
    if (variable.find('\0') != std::string::npos)
      return Refuse("an environment variable holds a zero byte", "no program could be given it; leave it out");
    if (variable.find('=') == std::string::npos || variable[0] == '=') {
      return Refuse("environment variable '" + ClippedText(variable, 80) + "' has no name", "write NAME=VALUE");
    }
    total_bytes += variable.size() + 1;
  }
  if (total_bytes > limits.command_bytes) {
    return RefuseSize("the command with its environment", total_bytes, limits.command_bytes, "bytes");
  }
  return OkStatus();
}

Status CheckLabels(const RunRequest& request, const RunRequestLimits& limits) {
  if (request.labels.size() > limits.labels) {
    return RefuseSize("the request", request.labels.size(), limits.labels, "labels");
  }
  for (const auto& [key, value] : request.labels) {
    if (!IsLabelKey(key) || key.size() > limits.label_key_bytes) {
      return Refuse("label '" + ClippedText(key, 80) + "' is not a usable name",
                    "use 1 to " + std::to_string(limits.label_key_bytes) + " letters, digits and . _ - /");
    }
    if (value.size() > limits.label_value_bytes) {
      return RefuseSize("label '" + key + "'", value.size(), limits.label_value_bytes, "bytes");
    }
    if (!IsUtf8(value))
      return Refuse("the value of label '" + key + "' is not UTF-8", "labels are text; put bytes into a file");
  }
  return OkStatus();
}

Status CheckTimeout(const char* field, int64_t timeout_ms, int64_t limit_ms) {
  if (timeout_ms < 0) return Refuse(std::string(field) + " is negative", "give a duration, or none");
  if (timeout_ms > limit_ms) return Refuse(std::string(field) + " is over the limit of 30 days", "give less, or none");
  return OkStatus();
}

}  // namespace

Status CheckRunRequest(const RunRequest& request, const RunRequestLimits& limits) {
  if (request.tool.size() > limits.name_bytes)
    return RefuseSize("the tool", request.tool.size(), limits.name_bytes, "bytes");
  if (request.device.size() > limits.name_bytes) {
    return RefuseSize("the device selector", request.device.size(), limits.name_bytes, "bytes");
  }
  if (request.cwd.size() > limits.path_bytes) {
    return RefuseSize("the working folder", request.cwd.size(), limits.path_bytes, "bytes");
  }
  if (request.limits.size() > limits.resource_limits) {
    return RefuseSize("the request", request.limits.size(), limits.resource_limits, "resource limits");
  }
  RETURN_IF_ERROR(CheckStrings(request, limits));
  RETURN_IF_ERROR(CheckLabels(request, limits));
  RETURN_IF_ERROR(CheckTimeout("the timeout", request.timeout_ms, limits.timeout_ms));
  RETURN_IF_ERROR(CheckTimeout("the queue timeout", request.queue_timeout_ms, limits.timeout_ms));
  if (request.priority < 0 || request.priority > limits.priority) {
    return Refuse("a priority of " + std::to_string(request.priority) + " is not between 0 and " +
                      std::to_string(limits.priority),
                  "give another, or none");
  }
  if (request.cwd.empty() || request.cwd[0] != '/') {
    return Refuse("the working folder '" + ClippedText(request.cwd, 200) + "' is not an absolute path",
                  "give it from the root on");
  }
  if (request.cwd.find('\0') != std::string::npos)
    return Refuse("the working folder holds a zero byte", "no folder has one in its name");
  if (request.idempotency_key.size() > limits.idempotency_key_bytes) {
    return RefuseSize("the idempotency key", request.idempotency_key.size(), limits.idempotency_key_bytes, "bytes");
  }
  return OkStatus();
}

}  // namespace kprof

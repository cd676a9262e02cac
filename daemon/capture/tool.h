// A tool turns a request into what the supervisor runs: a command line and an environment. It starts
// nothing itself. Adding a profiler means adding tool_x.cc and one line in tools.cc.
// Stateless; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"

namespace kprof {

struct ToolRequest {
  std::vector<std::string> argv;         // the user's command
  std::vector<std::string> environment;  // "NAME=value", the caller's
  std::string cwd;
};

struct ToolPlan {
  std::vector<std::string> argv;         // what is executed
  std::vector<std::string> environment;  // what it gets
};

class Tool {
 public:
  virtual ~Tool() = default;
  virtual std::string_view name() const = 0;
  // The clock policy of a run that asks for none (clocks/clock_policy.h).
  virtual std::string_view usual_clocks() const { return "lock"; }
  // Fails with kUsage when the tool cannot do what is asked; nothing is queued then.
  virtual Status Check(const ToolRequest& request) const = 0;
  // REQUIRES: Check passed. Fails with kToolMissing when the node lacks the tool.
  // What it changes is not what a caller in the foreground asked for, whose supervisor then refuses it in system mode
  // (storage/base/launch_digest.h): a tool that wraps the command is planned where kprofctl can sum it, too.
  virtual Result<ToolPlan> Plan(const ToolRequest& request) const = 0;
};

}  // namespace kprof

// A tool measures a command. It is one file, tool_x.cc, with one row of this struct, and one line in tools.cc. The row
// is all that others need to know: kprofd reads the tool's needs and outputs from it, kprofctl its options (ListTools),
// and kprof-launch makes its plan with it: as the caller, after the lease, when devices and folder are known.
//
// Values; any thread. Compiled into kprof-launch: libc and storage/base only.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/launch/launch_request.h"
#include "storage/base/status.h"

namespace kprof {

enum class ToolOptionType { kText, kInteger, kNumber, kSwitch };

struct ToolOption {
  std::string_view name;  // as it is typed: --name VALUE
  ToolOptionType type = ToolOptionType::kText;
  std::string_view usual;    // its value where none is given; empty: none
  std::string_view meaning;  // one line, for people
};

// The options of a request, checked, with the usual values of those that were left out.
class ToolOptions {
 public:
  // Empty for an option that has no value.
  std::string_view operator[](std::string_view name) const;
  void Set(std::string_view name, std::string_view value) { values_.emplace_back(name, value); }

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

// Needs of the node while the command runs.
struct ToolNeeds {
  std::string_view clocks = "lock";  // the clock policy of a run that asks for none (clock_policy.h)
  bool needs_command = true;         // it measures a command; else it may be asked for without one
  bool ncu_lock = false;             // no other ncu of the node runs (ncu_lock.h)
  bool dcgm_paused = false;          // nobody else profiles the devices
  bool exclusive = false;            // nobody else's processes are on the devices
};

// Files that the tool leaves in its folder.
struct ToolOutput {
  std::string_view glob;    // in the run's output folder
  std::string_view reader;  // a format of source_formats.h, "auto", or empty: it is kept and not imported
  bool required = false;    // missing or broken it fails the run with tool_failed
};

// A plan is made of the request, the tool's options and the folder for its outputs.
struct PlanInput {
  const LaunchRequest& request;
  const ToolOptions& options;
  std::string_view folder;  // for its outputs; the command has it as KPROF_OUTPUT_DIR
};

// A program that runs before or after the command, in its folder and environment, its output in the run's logs.
struct ToolStep {
  std::string name;  // for people: "export the report"
  std::vector<std::string> argv;
  bool operator==(const ToolStep&) const = default;
};

struct ToolPlan {
  std::vector<std::string> argv;         // the command as it is executed
  std::vector<std::string> environment;  // what it gets, complete
  std::vector<ToolStep> after;           // steps that run once it has ended well; one that fails is tool_failed
};

struct Tool {
  std::string_view name;
  std::string_view summary;  // one line: what it measures
  ToolNeeds needs;
  std::span<const ToolOption> options;
  std::span<const ToolOutput> outputs;
  // kToolMissing or kNotPermitted where it cannot work here. Null: it always can.
  Status (*probe)(const PlanInput& input) = nullptr;
  // REQUIRES: the request passed CheckToolRequest. Fails with kToolMissing where the node lacks something.
  Result<ToolPlan> (*plan)(const PlanInput& input) = nullptr;
};

}  // namespace kprof

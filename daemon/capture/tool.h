// A tool measures a command. It is one file, tool_x.cc, with one row of this struct, and one line in tools.cc. The row
// is all that others need to know: kprofd reads the tool's needs and outputs from it, kprofctl its options (ListTools),
// and kprof-launch makes its plan with it: as the caller, after the lease, when devices and folder are known.
//
// kprof-launch goes through a row in this order: find the vendor's program; `probe`, and run the questions that it
// returns; `plan`, and run the command; `judge` how that ended, maybe run it once more; run the steps after it, with
// `judge_step` behind each, and those that `next` adds to them.
//
// Values; any thread. Compiled into kprof-launch: libc and storage/base only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/launch/launch_request.h"
#include "storage/base/status.h"

namespace kprof {

// A duration is written like 500ms, 10s, 5m or 2h. JSON is one value; kprofctl also takes @FILE, and kprofd keeps it as
// the artifact NAME.json.
enum class ToolOptionType { kText, kInteger, kNumber, kSwitch, kDuration, kJson };

struct ToolOption {
  std::string_view name;  // as it is typed: --name VALUE
  ToolOptionType type = ToolOptionType::kText;
  std::string_view usual;    // its value where none is given; empty: none
  std::string_view meaning;  // one line, for people
  // A word without a name is its value: `capture neuron FILE`. At most one option of a tool.
  bool is_positional = false;
};

// The options of a request, checked, with the usual values of those that were left out.
class ToolOptions {
 public:
  // Empty for an option that has no value.
  std::string_view operator[](std::string_view name) const;
  // 0 for an option that has no value. REQUIRES: it is one of kInteger, or of kDuration: then in milliseconds.
  int64_t Number(std::string_view name) const;
  bool IsOn(std::string_view name) const { return (*this)[name] == "true"; }
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
  std::string_view program = {};     // a vendor's program that it runs (vendor_program.h); empty: none
  std::string_view or_program = {};  // another one that serves where that is not there; empty: none
  // "neuron": a run that names no device has one of this kind, and on a node without one none. Empty: any.
  std::string_view device_kind = {};
};

// Files that the tool leaves in its folder.
struct ToolOutput {
  std::string_view glob;         // in the run's output folder
  std::string_view reader = {};  // a format of source_formats.h, "auto", or empty: it is kept and not imported
  bool required = false;         // missing or broken it fails the run with tool_failed
};

// A plan is made of the request, the tool's options and the folder for its outputs.
struct PlanInput {
  const LaunchRequest& request;  // its command as it was asked for; from the plan on with the plan's environment
  const ToolOptions& options;
  std::string_view folder;        // for its outputs; the command has it as KPROF_OUTPUT_DIR
  std::string_view program = {};  // the path of the vendor's program that it needs
};

// A program that runs before or after the command, in its folder and environment, its output in the run's logs.
struct ToolStep {
  std::string name;  // for people: "export the report"
  std::vector<std::string> argv;
  std::string stdout_file = {};  // a name in the tool's folder that gets its standard output; empty: the run's logs
  int64_t limit_ms = 0;          // then it is ended, and has failed; 0: as long as the run's steps may take together
  bool is_optional = false;      // one that fails is a reason of the run's trust, step_failed
  bool operator==(const ToolStep&) const = default;
};

struct ToolPlan {
  std::vector<std::string> argv;         // the command as it is executed
  std::vector<std::string> environment;  // what it gets, complete
  std::vector<ToolStep> after;           // steps that run once it has ended well; one that fails is tool_failed
  // In the place of `argv`: commands that run in turns, a fresh process for each turn, as kprofd asks for them. The
  // first is the one that was asked for.
  std::vector<std::vector<std::string>> sides = {};
  std::vector<std::string> notes = {};  // for the run's trust: "code: message"
};

// How a command ended.
struct TriedCommand {
  std::optional<int32_t> exit_code;  // or
  std::optional<int32_t> signal;     // or neither: it is out of reach
  std::string_view printed;          // the last that it printed to standard output, then to standard error
  int64_t number = 1;                // of the try
};

struct Judgement {
  Status failed;                        // why the run fails; ok: by its exit code, if at all
  std::string again;                    // why one more try may end well; empty: it would not, or none is left
  std::vector<std::string> notes = {};  // for the run's trust: "code: message"
};

// Steps that follow on what others left.
struct NextSteps {
  std::vector<ToolStep> steps;
  std::vector<std::string> notes = {};  // for the run's trust: "code: message"
};

struct Tool {
  std::string_view name;
  std::string_view summary;  // one line: what it measures
  bool has_charts = false;   // charts of what it measured are drawn and kept with the run
  bool takes_turns = false;  // its plan has sides
  ToolNeeds needs;
  std::span<const ToolOption> options;
  std::span<const ToolOutput> outputs;
  // kUsage for options that do not go together, or not with a command or without one. Called before the run is queued,
  // and by kprof-launch. Null: all do.
  Status (*check)(const ToolOptions& options, bool has_command) = nullptr;
  // False for options with which nothing runs on a device. Null: something does.
  bool (*uses_device)(const ToolOptions& options) = nullptr;
  // The questions to its program that the plan reads the answers of: steps whose standard output is a file. One that
  // fails is the plan's to judge. kToolMissing or kNotPermitted where it cannot work here. Null: none.
  Result<std::vector<ToolStep>> (*probe)(const PlanInput& input) = nullptr;
  // REQUIRES: the request passed CheckToolRequest. Fails with kToolMissing where the node lacks something.
  Result<ToolPlan> (*plan)(const PlanInput& input) = nullptr;
  // Looks at what the command left; where it asks for one more try, it has put away the files of this one. Null: the
  // exit code says all.
  Judgement (*judge)(const PlanInput& input, const TriedCommand& tried) = nullptr;
  // Says what a step after the command that ended says in its output: why the run fails where that is known, notes for
  // the run's trust. `again` is not read: a step runs once. Called also for a step that ended well. Null: nothing.
  Judgement (*judge_step)(const PlanInput& input, const ToolStep& step, const TriedCommand& ended) = nullptr;
  // The steps that are to run next, when none is left: by the files that the command, and later the steps, have left in
  // the folder. `round`: 0 after the command and the plan's steps, then 1, 2, ... Empty steps: the tool is done; it is
  // asked kMostStepRounds times at most. A failure fails the run. Null: the plan's steps are all.
  Result<NextSteps> (*next)(const PlanInput& input, int64_t round) = nullptr;
};

inline constexpr int64_t kMostStepRounds = 8;

}  // namespace kprof

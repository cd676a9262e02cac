#include "client/cli/mcp/mcp_prompts.h"

#include <algorithm>
#include <string>

#include "storage/base/readable_text.h"

namespace kprof::cli {

const std::string_view kMcpInstructions =
    "kprofd measures commands on this node's devices, one at a time, and says what their numbers are worth. To learn "
    "whether a change is faster, capture event with `against`: a verdict of two commands that ran in turns. Results "
    "are "
    "short: `..._left_out` counts items that are missing, `rows` asks for more, and `whole` is the command line that "
    "prints everything. Read `trust` before you believe a number. The prompt optimise_kernel teaches the whole loop.";

namespace {

constexpr std::string_view kOptimise = "optimise_kernel";

struct PromptArgument {
  std::string_view name;
  bool is_required;
  std::string_view meaning;
};

constexpr PromptArgument kArguments[] = {
    {"command", true, "The line that runs the kernel, for sh -c. It may report samples of its own (docs/event.md)"},
    {"check", false, "A line for sh -c that fails where the result is wrong"},
    {"device", false, "The device to measure on (default: the first accelerator, else cpu)"},
    {"rounds", false, "The most changes to try (default: 10)"},
};

std::string ValueIn(const GivenJson& arguments, std::string_view name, std::string_view otherwise) {
  const GivenJson* value = arguments.Find(name);
  return std::string(value == nullptr || value->text.empty() ? otherwise : std::string_view(value->text));
}

// Stands between the parts that arguments make.
constexpr std::string_view kBaselineStep = R"(
2. Keep the baseline. Copy the code as it is now to a place that you do not change, so that its command runs to the end
   of the loop. Capture it with tool event: noise_percent says how small a change can be seen at all. Capture it with a
   profiler, too (ncu on NVIDIA, neuron on Neuron), and call report on that run: work on what bounds the kernel, not on
   what looks slow.
3. Change one thing. Compile in `prepare`, not in the command. )";

constexpr std::string_view kVerdictStep = R"(
4. Measure both. Capture event with the changed command as `command`, and the command of the best version so far as
   `against`: they run in turns, on one lease, in fresh processes. Read verdict, then comparison.reasons and trust.
   - FASTER: keep the change. comparison.ratio is its time by the other's; the truth lies between ci_low and ci_high.
   - SAME, SLOWER: undo it.
   - INCONCLUSIVE: nothing is known, and it is no win. The reasons say why. Measure again with more samples or with a
     larger option `budget`, or find what makes the device noisy.
   - isError: the run failed, and the code says how. check_failed: the result is wrong, and no speed makes up for that.
   - timing_disputed, below_physical_floor, device_idle_during_samples, result_tampered: these times are not those of
     the work. Find out why before anything else.
5. Stop by rule, not by hope. Call session_show after each round, and stop where should_stop.stop is true; its reason
   says why, and best_run which version is the best. Stop as well after three rounds without FASTER, and after )";

constexpr std::string_view kLastWords = R"( rounds.
6. Capture event once more, with the best version as `command` and the first baseline as `against`. Close the session
   with session_close. Report this last verdict with its ratio, interval and reasons, and the id of its run. If it is
   not FASTER, say so.

Never believe a single number: not your own timer's, not the median of one run, not the difference of two runs that were
measured at different times. Never change what is measured: no results kept from one sample for the next, no skipped
work, no smaller inputs.
)";

std::string OptimiseText(const GivenJson& arguments) {
  const std::string device = ValueIn(arguments, "device", "");
  const std::string check = ValueIn(arguments, "check", "");
  std::string text = "Make this faster, with the tools of kprof as the only judge of speed:\n\n    ";
  text += ValueIn(arguments, "command", "") + "\n\n";
  text += "1. Keep the device. Call session_open with clocks lock" + (device.empty() ? "" : " and device " + device);
  text += ", and give its id as `session` to every capture.";
  text += kBaselineStep;
  text += check.empty() ? "Write a check that fails where the result is wrong, on inputs that the\n   kernel has not "
                          "seen, and give it as `check` each time."
                        : "Give this as `check` each time:\n       " + check;
  text += kVerdictStep;
  text += ValueIn(arguments, "rounds", "10");
  text += kLastWords;
  return text;
}

}  // namespace

void WriteMcpPrompts(JsonWriter& json) {
  json.BeginObject().Key("prompts").BeginArray().BeginObject().Key("name").String(kOptimise);
  json.Key("description").String("Make a kernel faster in rounds: measure, change, compare, and stop by rule");
  json.Key("arguments").BeginArray();
  for (const PromptArgument& argument : kArguments) {
    json.BeginObject().Key("name").String(argument.name).Key("description").String(argument.meaning);
    json.Key("required").Bool(argument.is_required).EndObject();
  }
  json.EndArray().EndObject().EndArray().EndObject();
}

Status WriteMcpPrompt(JsonWriter& json, std::string_view name, const GivenJson& arguments) {
  const std::string what = "get a prompt";
  if (name != kOptimise) {
    return Fail(ErrorCode::kUsage, what, "there is no prompt '" + ReadableText(name) + "'",
                "use " + std::string(kOptimise));
  }
  for (size_t i = 0; i < arguments.names.size(); ++i) {
    const bool is_known =
        std::any_of(std::begin(kArguments), std::end(kArguments),
                    [&](const PromptArgument& argument) { return argument.name == arguments.names[i]; });
    const std::string quoted = "'" + ReadableText(arguments.names[i]) + "'";
    if (!is_known) return Fail(ErrorCode::kUsage, what, "there is no argument " + quoted, "see prompts/list");
    if (arguments.items[i].kind != GivenJson::Kind::kText) return Fail(ErrorCode::kUsage, what, quoted + " is no text");
  }
  for (const PromptArgument& argument : kArguments) {
    if (!argument.is_required || !ValueIn(arguments, argument.name, "").empty()) continue;
    return Fail(ErrorCode::kUsage, what, "'" + std::string(argument.name) + "' is missing",
                std::string(argument.meaning));
  }
  json.BeginObject().Key("description").String("The loop, for this kernel").Key("messages").BeginArray();
  json.BeginObject().Key("role").String("user").Key("content").BeginObject().Key("type").String("text");
  json.Key("text").String(OptimiseText(arguments)).EndObject().EndObject().EndArray().EndObject();
  return OkStatus();
}

}  // namespace kprof::cli

#include "client/cli/grammar/grammar.h"

namespace kprof::cli {
namespace {

struct CaptureWords {
  CaptureArgs args;
  std::string timeout;
  std::string queue_timeout;
  std::vector<std::string> labels;
  std::string cool_down;
  std::string fail_on;

  Result<VerbArgs> Finish() {
    if (args.list) return VerbArgs(args);
    if (args.tool.empty()) return Usage("TOOL is required", "see 'kprofctl capture --help'");
    RETURN_IF_ERROR(CheckText("TOOL", args.tool));
    RETURN_IF_ERROR(CheckText("--device", args.device));
    RETURN_IF_ERROR(CheckText("--clocks", args.clocks));
    RETURN_IF_ERROR(CheckText("--session", args.session));
    ASSIGN_OR_RETURN(args.timeout_ms, ParseOptionalDuration("--timeout", timeout));
    ASSIGN_OR_RETURN(args.queue_timeout_ms, ParseOptionalDuration("--queue-timeout", queue_timeout));
    ASSIGN_OR_RETURN(args.cool_down_ms, ParseOptionalDuration("--cool-down", cool_down));
    ASSIGN_OR_RETURN(args.labels, ParseLabels(labels));
    RETURN_IF_ERROR(CheckText("--baseline", args.baseline));
    if (!fail_on.empty()) {
      ASSIGN_OR_RETURN(args.fail_on, ParseFailOn(fail_on));
    }
    if (args.detach && !args.markdown.empty()) {
      return Usage("--detach does not wait for what --markdown tells", "leave one of the two out");
    }
    RETURN_IF_ERROR(AddLabel("kernel", args.kernel));
    RETURN_IF_ERROR(AddLabel("version", args.version));
    return VerbArgs(args);
  }

  // An option that is kept as a label.
  Status AddLabel(const std::string& name, const std::string& value) {
    if (value.empty()) return OkStatus();
    RETURN_IF_ERROR(CheckText(("--" + name).c_str(), value));
    const auto [label, is_new] = args.labels.emplace(name, value);
    if (is_new || label->second == value) return OkStatus();
    return Usage("--" + name + " and --label " + name + "= say different things", "give one of the two");
  }
};

}  // namespace

void AddCaptureVerb(VerbSet& verbs) {
  auto words = std::make_shared<CaptureWords>();
  CaptureArgs& args = words->args;
  CLI::App* verb =
      verbs.Add("capture", "Queue a command, run it, keep what it leaves", [words] { return words->Finish(); });
  verb->add_option("TOOL", args.tool, "What measures: command, or another one of --list")->type_name("");
  verb->add_flag("--list", args.list, "Print the tools of the daemon, and their options");
  verb->add_option(
          "--device", args.device,
          "0 | 0,1 | UUID | all | cpu | none (default: the visible ones, else the first accelerator, else cpu)")
      ->type_name("SEL");
  verb->add_option("--timeout", words->timeout,
                   "End the command after this long (default: never, or the node's longest)")
      ->type_name("DURATION");
  verb->add_option("--queue-timeout", words->queue_timeout, "Give up when it has waited this long (default: never)")
      ->type_name("DURATION");
  AddRepeated(verb, "--env", "K[=V]", args.env, "Set a variable, or insist on the caller's (repeat)");
  verb->add_option("--cwd", args.cwd, "Where the command starts (default: here; on another node: /)")->type_name("DIR");
  AddRepeated(verb, "--label", "K=V", words->labels, "A note by which runs are found (repeat)");
  verb->add_option("--kernel", args.kernel, "What is measured; kept as the label kernel")->type_name("NAME");
  // The verb's own --version stands in the place of the program's.
  verb->add_option("--version", args.version, "Which version of it; kept as the label version")->type_name("NAME");
  verb->add_option("--params", args.params, "Its parameters, an object of JSON; kept as params.json and as a label")
      ->type_name("JSON|@FILE");
  verb->add_option("--baseline", args.baseline, "The run that its report compares with; kept as the label baseline")
      ->type_name("RUN");
  verb->add_option(
          "--clocks", args.clocks,
          "none, base, lock or lock=MHZ; lock! fails instead of going on unlocked (default: as the tool wants it)")
      ->type_name("POLICY");
  verb->add_option("--cool-down", words->cool_down,
                   "Wait at most this long until the device is 10 C below its slowdown (default: do not)")
      ->type_name("DURATION");
  verb->add_flag("--exclusive", args.exclusive, "Wait until nobody else's processes are on the device");
  AddRepeated(verb, "--collect", "GLOB", args.collect,
              "Keep files that it leaves, or all in a folder, and import traces among them; quote it (repeat)");
  verb->add_option("--prepare", args.prepare, "Run this by sh -c first, before the device is leased")->type_name("CMD");
  verb->add_option("--check", args.check, "Run this by sh -c after it; where it fails the run does (check_failed)")
      ->type_name("CMD");
  verb->add_option("--session", args.session, "Run it as the next round of this session (default: by itself)")
      ->type_name("ID");
  AddPriority(verb, args.priority);
  verb->add_option("--fail-on", words->fail_on,
                   "Exit with 9 where the verdict of --against is SLOWER; inconclusive: also where it is INCONCLUSIVE")
      ->type_name("slower|inconclusive");
  AddMarkdown(verb, args.markdown);
  verb->add_flag("--shared", args.shared, "Others may see the run");
  verb->add_flag("--detach", args.detach, "Print the id and do not wait");
  verb->add_flag("--quiet", args.quiet, "Do not show what the command prints; the report goes to standard output");
  verbs.SetUsage(*verb, std::string("kprofctl capture TOOL [OPTIONS] -- CMD ARG...") + kNextUsage +
                            "kprofctl capture neuron [OPTIONS] FILE.neff" + kNextUsage + "kprofctl capture --list");
  verb->footer(
      "The command follows after --. A tool's own options are written as these: --name VALUE, or --name alone\n"
      "for a switch; 'kprofctl capture --list' names them. Durations: 500ms 10s 5m 2h. Visible devices are those that\n"
      "CUDA_VISIBLE_DEVICES or NEURON_RT_VISIBLE_CORES names. Ctrl-C cancels the run; a second one leaves at once.\n"
      "What the command prints is shown as it comes and kept (kprofctl logs); the report goes to standard error.\n"
      "Exits with 0 when the command did, with 7 when it failed; see docs/cli.md for the rest.\n\n"
      "  kprofctl capture command --label try=3 --timeout 10m -- python train.py --steps 10\n"
      "  kprofctl capture ncu --kernel mla --version v4 --params '{\"b\":32}' --baseline @last -- python bench.py");
}

}  // namespace kprof::cli

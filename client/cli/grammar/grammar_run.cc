#include "client/cli/grammar/grammar.h"
#include "client/cli/views/run_text.h"

namespace kprof::cli {
namespace {

struct RunsWords {
  RunsArgs args;
  std::vector<std::string> labels;
  std::vector<std::string> states;

  Result<VerbArgs> Finish() {
    ASSIGN_OR_RETURN(args.labels, ParseLabels(labels));
    for (const std::string& tool : args.tools) RETURN_IF_ERROR(CheckText("--tool", tool));
    for (const std::string& name : states) {
      std::optional<v1::RunState> state = RunStateByName(name);
      if (!state) {
        return Usage("--state '" + name + "' is no state",
                     "use queued, preparing, running, collecting, done, failed or cancelled");
      }
      args.states.push_back(*state);
    }
    return VerbArgs(args);
  }
};

void AddRuns(VerbSet& verbs) {
  auto words = std::make_shared<RunsWords>();
  CLI::App* runs = verbs.Add("runs", "Runs, newest first", [words] { return words->Finish(); });
  AddLimit(runs, words->args.limit);
  AddRepeated(runs, "--label", "K=V", words->labels, "Only runs with this label (repeat: all of them)");
  AddRepeated(runs, "--tool", "TOOL", words->args.tools, "Only runs of this tool (repeat: any of them)");
  AddRepeated(runs, "--state", "STATE", words->states, "Only runs in this state (repeat: any of them)");
  runs->footer(
      "STATE is queued, preparing, running, collecting, done, failed or cancelled.\n\n"
      "  kprofctl runs --limit 5 --state failed --label model=llama");
}

// A verb whose one word is a run; `rest` is what Args has besides.
template <typename Args, typename... Rest>
CLI::App* AddOfRun(VerbSet& verbs, const char* name, const char* help, Rest... rest) {
  auto run = std::make_shared<std::string>();
  CLI::App* verb = verbs.Add(name, help, [run, rest...]() -> Result<VerbArgs> {
    RETURN_IF_ERROR(CheckText("RUN", *run));
    return VerbArgs(Args{*run, rest...});
  });
  verb->add_option("RUN", *run, kRunHelp)->required()->type_name("");
  verb->footer(std::string("  kprofctl ") + name + " @last");
  return verb;
}

void AddShow(VerbSet& verbs) {
  auto args = std::make_shared<ShowArgs>();
  CLI::App* show = verbs.Add("show", "All that is known of a run", [args]() -> Result<VerbArgs> {
    RETURN_IF_ERROR(CheckText("RUN", args->run));
    return VerbArgs(*args);
  });
  show->add_option("RUN", args->run, kRunHelp)->required()->type_name("");
  AddMarkdown(show, args->markdown);
  show->footer("  kprofctl show @last");
}

void AddDelete(VerbSet& verbs) {
  auto args = std::make_shared<DeleteArgs>();
  CLI::App* del = verbs.Add("delete", "Remove ended, unpinned runs and all they left", [args]() -> Result<VerbArgs> {
    for (const std::string& run : args->runs) RETURN_IF_ERROR(CheckText("RUN", run));
    return VerbArgs(*args);
  });
  del->add_option("RUN", args->runs, "Each as for 'kprofctl show'")->required()->type_name("");
  del->footer("  kprofctl delete @last @last~1");
}

void AddLogs(VerbSet& verbs) {
  auto args = std::make_shared<LogsArgs>();
  CLI::App* logs = verbs.Add("logs", "What a run's command printed", [args]() -> Result<VerbArgs> {
    RETURN_IF_ERROR(CheckText("RUN", args->run));
    return VerbArgs(*args);
  });
  logs->add_option("RUN", args->run, kRunHelp)->required()->type_name("");
  logs->add_flag("-f,--follow", args->follow, "Go on until the run has ended");
  logs->add_flag("--stderr", args->from_stderr, "Its standard error instead of its standard output");
  logs->footer("  kprofctl logs @last -f");
}

}  // namespace

void AddRunVerbs(VerbSet& verbs) {
  AddRuns(verbs);
  AddShow(verbs);
  AddOfRun<WaitArgs>(verbs, "wait", "Wait for a run's end; exits as the capture would")
      ->footer("Ctrl-C ends the waiting, not the run.\n\n  kprofctl wait @last");
  AddOfRun<CancelArgs>(verbs, "cancel", "End a run");
  AddDelete(verbs);
  AddOfRun<PinArgs>(verbs, "pin", "Keep a run until it is unpinned", true);
  AddOfRun<PinArgs>(verbs, "unpin", "Let retention and delete have a run", false);
  AddLogs(verbs);
}

}  // namespace kprof::cli

#include "client/cli/grammar/grammar.h"
#include "client/cli/views/session_text.h"

namespace kprof::cli {
namespace {

struct OpenWords {
  OpenSessionArgs args;
  std::string ttl;
  std::string idle_timeout;
  std::string queue_timeout;
  std::vector<std::string> labels;

  Result<VerbArgs> Finish() {
    RETURN_IF_ERROR(CheckText("--device", args.device));
    RETURN_IF_ERROR(CheckText("--clocks", args.clocks));
    ASSIGN_OR_RETURN(args.ttl_ms, ParseOptionalDuration("--ttl", ttl));
    ASSIGN_OR_RETURN(args.idle_timeout_ms, ParseOptionalDuration("--idle-timeout", idle_timeout));
    ASSIGN_OR_RETURN(args.queue_timeout_ms, ParseOptionalDuration("--queue-timeout", queue_timeout));
    ASSIGN_OR_RETURN(args.labels, ParseLabels(labels));
    return VerbArgs(args);
  }
};

struct ListWords {
  ListSessionsArgs args;
  std::vector<std::string> labels;
  std::vector<std::string> states;

  Result<VerbArgs> Finish() {
    ASSIGN_OR_RETURN(args.labels, ParseLabels(labels));
    for (const std::string& name : states) {
      std::optional<v1::SessionState> state = SessionStateByName(name);
      if (!state) return Usage("--state '" + name + "' is no state", "use queued, open, closing, closed or lost");
      args.states.push_back(*state);
    }
    return VerbArgs(args);
  }
};

void AddOpen(VerbSet& verbs, CLI::App* session) {
  auto words = std::make_shared<OpenWords>();
  CLI::App* open =
      verbs.AddBelow(session, "open", "Wait for devices, keep them, print the id", [words] { return words->Finish(); });
  open->add_option("--device", words->args.device,
                   "0 | 0,1 | UUID | all | cpu (default: the first accelerator, else cpu)")
      ->type_name("SEL");
  open->add_option("--clocks", words->args.clocks,
                   "none, base, lock or lock=MHZ; lock! fails instead of going on unlocked (default: none)")
      ->type_name("POLICY");
  open->add_option("--ttl", words->ttl, "It ends after this long (default: 1h)")->type_name("DURATION");
  open->add_option("--idle-timeout", words->idle_timeout, "It ends when it has no run for this long (default: 10m)")
      ->type_name("DURATION");
  open->add_option("--queue-timeout", words->queue_timeout, "Give up when it has waited this long (default: never)")
      ->type_name("DURATION");
  AddRepeated(open, "--label", "K=V", words->labels, "A note by which sessions are found (repeat)");
  AddPriority(open, words->args.priority);
  verbs.SetUsage(*open, "kprofctl session open [OPTIONS]");
  open->footer(
      "It outlives kprofctl: 'kprofctl session close ID' ends it. Ctrl-C while it waits closes it.\n\n"
      "  kprofctl session open --device 0,1 --clocks lock --ttl 2h --label loop=7");
}

void AddList(VerbSet& verbs, CLI::App* session) {
  auto words = std::make_shared<ListWords>();
  CLI::App* list = verbs.AddBelow(session, "list", "Sessions, newest first", [words] { return words->Finish(); });
  AddLimit(list, words->args.limit);
  AddRepeated(list, "--label", "K=V", words->labels, "Only sessions with this label (repeat: all of them)");
  AddRepeated(list, "--state", "STATE", words->states, "Only sessions in this state (repeat: any of them)");
  list->footer("STATE is queued, open, closing, closed or lost.\n\n  kprofctl session list --state open");
}

template <typename Args>
void AddOfSession(VerbSet& verbs, CLI::App* session, const std::string& name, const char* help) {
  auto id = std::make_shared<std::string>();
  CLI::App* verb = verbs.AddBelow(session, name, help, [id]() -> Result<VerbArgs> {
    RETURN_IF_ERROR(CheckText("ID", *id));
    return VerbArgs(Args{*id});
  });
  verb->add_option("ID", *id, kRunHelp)->required()->type_name("");
  verbs.SetUsage(*verb, "kprofctl session " + name + " ID");
  verb->footer("  kprofctl session " + name + " @last");
}

}  // namespace

void AddSessionVerbs(VerbSet& verbs) {
  CLI::App* session = verbs.Add("session", "Keep devices for a series of captures", []() -> Result<VerbArgs> {
    return Usage("what to do with a session is missing", "say open, close, list or show");
  });
  session->require_subcommand(0, 1);
  verbs.SetUsage(*session, std::string("kprofctl session open [OPTIONS]") + kNextUsage + "kprofctl session close ID" +
                               kNextUsage + "kprofctl session list [OPTIONS]" + kNextUsage +
                               "kprofctl session show ID");
  session->footer(
      "ID is an id, a unique prefix of one, @last or @last~N.\n\n"
      "  id=$(kprofctl session open --device 0 --ttl 2h)\n"
      "  kprofctl capture command --session $id -- ./benchmark\n"
      "  kprofctl session close $id");
  AddOpen(verbs, session);
  AddList(verbs, session);
  AddOfSession<CloseSessionArgs>(verbs, session, "close", "End its runs and give its devices back");
  AddOfSession<ShowSessionArgs>(verbs, session, "show", "All that is known of it, and its rounds");
}

}  // namespace kprof::cli

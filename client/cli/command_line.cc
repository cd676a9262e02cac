#include "client/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <functional>
#include <iterator>
#include <memory>
#include <string_view>

#include "client/cli/durations.h"
#include "client/cli/help_text.h"
#include "client/cli/later_versions.h"
#include "client/cli/run_outcome.h"
#include "client/cli/session_text.h"
#include "client/cli/terminal_text.h"
#include "client/cli/typed_words.h"
#include "client/cpp/version.h"
#include "storage/base/readable_text.h"

namespace kprof::cli {
namespace {

constexpr char kWhat[] = "read the command line";
constexpr std::string_view kGlobalWithValue[] = {"--socket", "--node", "--ca", "--cert", "--key"};

Status Usage(std::string why, std::string remedy) {
  std::replace(why.begin(), why.end(), '\n', ' ');
  return Fail(ErrorCode::kUsage, kWhat, std::move(why), std::move(remedy));
}

// The values as typed; Finish turns them into VerbArgs.
struct Typed {
  GlobalOptions global;
  CaptureArgs capture;
  RunsArgs runs;
  DevicesArgs devices;
  DeleteArgs del;
  LogsArgs logs;
  GetArtifactArgs get;
  PutArtifactArgs put;
  QueryArgs query;
  BackupArgs backup;
  AuditArgs audit;
  std::string since;
  CompletionArgs completion;
  std::string run;  // of the verbs that take one
  std::vector<std::string> labels;
  std::vector<std::string> states;
  std::string timeout;
  std::string queue_timeout;
  std::string clocks;  // of a capture: none, see later_versions.h
  OpenSessionArgs open;
  ListSessionsArgs sessions;
  std::string session;
  std::string ttl;
  std::string idle_timeout;
  std::string format;
};

using Finish = std::function<Result<VerbArgs>()>;

// Text that travels as text must be UTF-8.
Status CheckText(const char* name, const std::string& value) {
  if (IsUtf8(value)) return OkStatus();
  return Usage(std::string(name) + " '" + ReadableText(value) + "' is not UTF-8", "write it in UTF-8");
}

Result<std::map<std::string, std::string>> ParseLabels(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> labels;
  for (const std::string& text : texts) {
    RETURN_IF_ERROR(CheckText("--label", text));
    size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Usage("--label '" + text + "' is not KEY=VALUE", "write it like --label model=llama");
    }
    const std::string key = text.substr(0, equals);
    if (!labels.emplace(key, text.substr(equals + 1)).second) {
      return Usage("the label '" + key + "' is given twice", "give each key one value");
    }
  }
  return labels;
}

Result<int64_t> ParseOptionalDuration(const char* option, const std::string& text) {
  if (text.empty()) return 0;
  Result<int64_t> duration = ParseDurationMs(text);
  if (!duration.ok()) {
    return Usage(std::string(option) + " '" + text + "': " + duration.status().why(), duration.status().remedy());
  }
  return duration;
}

// An option's value that is a whole number, in digits alone: CLI11 itself would read 010 as 8 and 0x2 as 2. Has no
// description, so --help does not go into detail; what is wrong is said in words where it is.
CLI::Validator WholeNumber(int64_t least, int64_t most) {
  auto read = [least, most](std::string& text) -> std::string {
    int64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size() && value >= least && value <= most) {
      text = std::to_string(value);
      return "";
    }
    return "'" + text + "' is not a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  };
  return CLI::Validator(read, "");
}

// The whole command line: CLI11's description, and for each verb how to finish it.
class Grammar {
 public:
  Grammar() : app_("Measures on this node through kprofd, its profiling daemon.", "kprofctl") {
    app_.formatter(help_);
    help_->SetUsage(app_, "kprofctl [OPTIONS] VERB ...");
    app_.fallthrough();  // global options may stand after the verb; inherited by the verbs
    app_.require_subcommand(0, 1);
    app_.set_version_flag("--version", "kprofctl " + std::string(ClientVersion()),
                          "Print the client's version and exit");
    app_.add_option("--socket", typed_.global.socket,
                    "The daemon's socket (default: $KPROF_SOCKET, else the user's daemon, else the system's)")
        ->type_name("PATH");
    app_.add_option("--node", typed_.global.node, "A daemon on another node, over TLS (default: $KPROF_NODE)")
        ->type_name("HOST:PORT");
    app_.add_option("--ca", typed_.global.ca, "Who may have signed the node's certificate (default: $KPROF_CA)")
        ->type_name("FILE");
    app_.add_option("--cert", typed_.global.cert, "Your certificate for the node (default: $KPROF_CERT)")
        ->type_name("FILE");
    app_.add_option("--key", typed_.global.key, "Its private key (default: $KPROF_KEY)")->type_name("FILE");
    app_.add_flag("--json", typed_.global.json, "Results and errors as one JSON object per line");
    AddNodeVerbs();
    AddCapture();
    AddSession();
    AddRunVerbs();
    AddArtifacts();
    AddDataVerbs();
    for (auto& [verb, finish] : finish_) {
      std::string also = "Also: --json, --socket PATH and --node HOST:PORT, before or after the verb.";
      verb->footer(verb->get_footer().empty() ? also : verb->get_footer() + "\n\n" + also);
    }
    // Last: verbs inherit what is there when they are made.
    app_.footer(
        "  kprofctl capture command -- ./program --its-option\n"
        "  kprofctl show @last\n\n"
        "RUN is an id, a unique prefix of one, @last or @last~N. Durations: 500ms 10s 5m 2h.\n"
        "'kprofctl VERB --help' explains a verb.");
  }
  Grammar(const Grammar&) = delete;
  Grammar& operator=(const Grammar&) = delete;

  // `command`: what stood after -- of a capture.
  Result<CommandLine> Parse(const std::vector<std::string>& args, std::vector<std::string> command) {
    std::vector<std::string> words = WithEmptyValuesApart(args, SpellingsOf(Describe()));
    std::reverse(words.begin(), words.end());  // as CLI11 wants it
    try {
      app_.parse(words);
    } catch (const CLI::CallForHelp&) {
      return CommandLine{typed_.global, PrintText{app_.help()}};
    } catch (const CLI::CallForAllHelp&) {
      return CommandLine{typed_.global, PrintText{app_.help("", CLI::AppFormatMode::All)}};
    } catch (const CLI::CallForVersion& version) {
      return CommandLine{typed_.global, PrintText{std::string(version.what()) + "\n"}};
    } catch (const CLI::ExtrasError& error) {
      if (command.empty()) RETURN_IF_ERROR(CheckCommandIsApart(args));
      return Usage(error.what(), SeeHelp());
    } catch (const CLI::ParseError& error) {
      return Usage(error.what(), SeeHelp());
    }
    RETURN_IF_ERROR(CheckNothingIsEmpty(app_));
    typed_.capture.command = std::move(command);
    RETURN_IF_ERROR(CheckText("RUN", typed_.run));
    for (auto& [verb, finish] : finish_) {
      // The innermost verb: `artifacts RUN get` is also an `artifacts`.
      if (!verb->parsed() || !verb->get_subcommands().empty()) continue;
      ASSIGN_OR_RETURN(VerbArgs args, finish());
      return CommandLine{typed_.global, std::move(args)};
    }
    return Usage("no verb", "see 'kprofctl --help'");
  }

  bool HasVerb(const std::string& name) const {
    for (const CLI::App* verb : app_.get_subcommands(nullptr)) {
      if (verb->get_name() == name) return true;
    }
    return false;
  }

  CommandDescription Describe() const { return DescribeApp(app_); }

 private:
  CLI::App* AddVerb(const char* name, const char* help, Finish finish) {
    CLI::App* verb = app_.add_subcommand(name, help)->group("Verbs");
    finish_.emplace_back(verb, std::move(finish));
    return verb;
  }

  CLI::App* AddRunVerb(const char* name, const char* help, Finish finish) {
    CLI::App* verb = AddVerb(name, help, std::move(finish));
    verb->add_option("RUN", typed_.run, kRunHelp)->required()->type_name("");
    verb->footer(std::string("  kprofctl ") + name + " @last");
    return verb;
  }

  static constexpr char kRunHelp[] = "An id, a unique prefix of one, @last, or @last~N: the Nth before it";

  // An option that may be given several times, one value each.
  static void AddRepeated(CLI::App* verb, const char* name, const char* value, std::vector<std::string>& to,
                          const char* help) {
    verb->add_option(name, to, help)->allow_extra_args(false)->type_name(value);
  }

  void AddNodeVerbs() {
    AddVerb("status", "The daemon: version, uptime, devices, queue, storage", [] { return VerbArgs(StatusArgs()); });
    AddVerb("devices", "What can be measured on, and who holds it", [this] {
      return VerbArgs(typed_.devices);
    })->add_flag("--watch", typed_.devices.watch, "Again every second, until Ctrl-C");
    AddVerb("doctor", "What on this node keeps kprofd from measuring well, each with its remedy",
            [] { return VerbArgs(DoctorArgs()); });
    CLI::App* audit =
        AddVerb("audit", "Who did what to which device when, newest first; for admins", [this]() -> Result<VerbArgs> {
          ASSIGN_OR_RETURN(typed_.audit.since_ms, ParseOptionalDuration("--since", typed_.since));
          return VerbArgs(typed_.audit);
        });
    audit->add_option("--limit", typed_.audit.limit, "At most this many (default: 20)")
        ->transform(WholeNumber(1, 1'000'000'000))
        ->type_name("N");
    audit->add_option("--since", typed_.since, "Only of the last so long (default: of any time)")
        ->type_name("DURATION");
    audit->add_option("--uid", typed_.audit.uid, "Only what this user did, or was done for this user")
        ->transform(WholeNumber(0, UINT32_MAX))
        ->type_name("UID");
    audit->footer(
        "Durations: 500ms 10s 5m 2h. The words are explained in docs/audit.md.\n\n  kprofctl audit --since 2h");
  }

  void AddCapture() {
    CLI::App* verb =
        AddVerb("capture", "Queue a command, run it, keep what it leaves", [this] { return FinishCapture(); });
    CaptureArgs& args = typed_.capture;
    verb->add_option("TOOL", args.tool, "What measures: command")->required()->type_name("");
    verb->add_option(
            "--device", args.device,
            "0 | 0,1 | UUID | all | cpu | none (default: the visible ones, else the first accelerator, else cpu)")
        ->type_name("SEL");
    verb->add_option("--timeout", typed_.timeout, "End the command after this long (default: never)")
        ->type_name("DURATION");
    verb->add_option("--queue-timeout", typed_.queue_timeout, "Give up when it has waited this long (default: never)")
        ->type_name("DURATION");
    AddRepeated(verb, "--env", "K[=V]", args.env, "Set a variable, or insist on the caller's (repeat)");
    verb->add_option("--cwd", args.cwd, "Where the command starts (default: here; on another node: /)")
        ->type_name("DIR");
    AddRepeated(verb, "--label", "K=V", typed_.labels, "A note by which runs are found (repeat)");
    verb->add_option("--clocks", typed_.clocks, "none: leave the clocks alone (default: none)")->type_name("POLICY");
    verb->add_option("--session", args.session, "Run it as the next round of this session (default: by itself)")
        ->type_name("ID");
    AddPriority(verb, args.priority);
    verb->add_flag("--shared", args.shared, "Others may see the run");
    verb->add_flag("--detach", args.detach, "Print the id and do not wait");
    help_->SetUsage(*verb, "kprofctl capture TOOL [OPTIONS] -- CMD ARG...");
    verb->footer(
        "The command follows after --. Durations: 500ms 10s 5m 2h. Visible devices are those that\n"
        "CUDA_VISIBLE_DEVICES or NEURON_RT_VISIBLE_CORES names. Ctrl-C cancels the run; a second one leaves at once.\n"
        "Exits with 0 when the command did, with 7 when it failed; see docs/cli.md for the rest.\n\n"
        "  kprofctl capture command --label try=3 --timeout 10m -- python train.py --steps 10");
  }

  Result<VerbArgs> FinishCapture() {
    CaptureArgs& args = typed_.capture;
    RETURN_IF_ERROR(CheckText("TOOL", args.tool));
    RETURN_IF_ERROR(CheckText("--device", args.device));
    RETURN_IF_ERROR(CheckText("--session", args.session));
    ASSIGN_OR_RETURN(args.timeout_ms, ParseOptionalDuration("--timeout", typed_.timeout));
    ASSIGN_OR_RETURN(args.queue_timeout_ms, ParseOptionalDuration("--queue-timeout", typed_.queue_timeout));
    ASSIGN_OR_RETURN(args.labels, ParseLabels(typed_.labels));
    if (args.tool == "command" && args.command.empty()) {
      return Usage("there is no command to run", "write it after --: kprofctl capture command -- CMD ARG...");
    }
    return VerbArgs(args);
  }

  static void AddPriority(CLI::App* verb, int64_t& to) {
    verb->add_option("--priority", to, "Go before those of a lower one; above 0 for operators only (default: 0)")
        ->transform(WholeNumber(0, 100))
        ->type_name("N");
  }

  void AddSession() {
    CLI::App* verb = AddVerb("session", "Keep devices for a series of captures", []() -> Result<VerbArgs> {
      return Usage("what to do with a session is missing", "say open, close, list or show");
    });
    verb->require_subcommand(0, 1);
    const std::string indent = "\n       ";
    help_->SetUsage(*verb, "kprofctl session open [OPTIONS]" + indent + "kprofctl session close ID" + indent +
                               "kprofctl session list [OPTIONS]" + indent + "kprofctl session show ID");
    verb->footer(
        "ID is an id, a unique prefix of one, @last or @last~N.\n\n"
        "  id=$(kprofctl session open --device 0 --ttl 2h)\n"
        "  kprofctl capture command --session $id -- ./benchmark\n"
        "  kprofctl session close $id");
    AddSessionOpen(verb);
    CLI::App* list = verb->add_subcommand("list", "Sessions, newest first")->group("Verbs");
    list->add_option("--limit", typed_.sessions.limit, "At most this many (default: 20)")
        ->transform(WholeNumber(1, 1'000'000'000))
        ->type_name("N");
    AddRepeated(list, "--label", "K=V", typed_.labels, "Only sessions with this label (repeat: all of them)");
    AddRepeated(list, "--state", "STATE", typed_.states, "Only sessions in this state (repeat: any of them)");
    list->footer("STATE is queued, open, closing, closed or lost.\n\n  kprofctl session list --state open");
    finish_.emplace_back(list, [this] { return FinishSessionList(); });
    AddOfSession<CloseSessionArgs>(verb, "close", "End its runs and give its devices back");
    AddOfSession<ShowSessionArgs>(verb, "show", "All that is known of it, and its rounds");
  }

  template <typename Args>
  void AddOfSession(CLI::App* session, const std::string& name, const char* help) {
    CLI::App* verb = session->add_subcommand(name, help)->group("Verbs");
    verb->add_option("ID", typed_.session, "An id, a unique prefix of one, @last, or @last~N: the Nth before it")
        ->required()
        ->type_name("");
    help_->SetUsage(*verb, "kprofctl session " + name + " ID");
    verb->footer("  kprofctl session " + name + " @last");
    finish_.emplace_back(verb, [this]() -> Result<VerbArgs> {
      RETURN_IF_ERROR(CheckText("ID", typed_.session));
      return VerbArgs(Args{typed_.session});
    });
  }

  void AddSessionOpen(CLI::App* session) {
    OpenSessionArgs& args = typed_.open;
    CLI::App* open = session->add_subcommand("open", "Wait for devices, keep them, print the id")->group("Verbs");
    open->add_option("--device", args.device, "0 | 0,1 | UUID | all | cpu (default: the first accelerator, else cpu)")
        ->type_name("SEL");
    open->add_option("--clocks", args.clocks,
                     "none, base, lock or lock=MHZ; this version locks none, and its runs say so (default: none)")
        ->type_name("POLICY");
    open->add_option("--ttl", typed_.ttl, "It ends after this long (default: 1h)")->type_name("DURATION");
    open->add_option("--idle-timeout", typed_.idle_timeout, "It ends when it has no run for this long (default: 10m)")
        ->type_name("DURATION");
    open->add_option("--queue-timeout", typed_.queue_timeout, "Give up when it has waited this long (default: never)")
        ->type_name("DURATION");
    AddRepeated(open, "--label", "K=V", typed_.labels, "A note by which sessions are found (repeat)");
    AddPriority(open, args.priority);
    help_->SetUsage(*open, "kprofctl session open [OPTIONS]");
    open->footer(
        "It outlives kprofctl: 'kprofctl session close ID' ends it. Ctrl-C while it waits closes it.\n\n"
        "  kprofctl session open --device 0,1 --ttl 2h --label loop=7");
    finish_.emplace_back(open, [this] { return FinishSessionOpen(); });
  }

  Result<VerbArgs> FinishSessionOpen() {
    OpenSessionArgs& args = typed_.open;
    RETURN_IF_ERROR(CheckText("--device", args.device));
    RETURN_IF_ERROR(CheckText("--clocks", args.clocks));
    ASSIGN_OR_RETURN(args.ttl_ms, ParseOptionalDuration("--ttl", typed_.ttl));
    ASSIGN_OR_RETURN(args.idle_timeout_ms, ParseOptionalDuration("--idle-timeout", typed_.idle_timeout));
    ASSIGN_OR_RETURN(args.queue_timeout_ms, ParseOptionalDuration("--queue-timeout", typed_.queue_timeout));
    ASSIGN_OR_RETURN(args.labels, ParseLabels(typed_.labels));
    return VerbArgs(args);
  }

  Result<VerbArgs> FinishSessionList() {
    ASSIGN_OR_RETURN(typed_.sessions.labels, ParseLabels(typed_.labels));
    for (const std::string& name : typed_.states) {
      std::optional<v1::SessionState> state = SessionStateByName(name);
      if (!state) return Usage("--state '" + name + "' is no state", "use queued, open, closing, closed or lost");
      typed_.sessions.states.push_back(*state);
    }
    return VerbArgs(typed_.sessions);
  }

  void AddRunVerbs() {
    CLI::App* runs = AddVerb("runs", "Runs, newest first", [this] { return FinishRuns(); });
    runs->add_option("--limit", typed_.runs.limit, "At most this many (default: 20)")
        ->transform(WholeNumber(1, 1'000'000'000))
        ->type_name("N");
    AddRepeated(runs, "--label", "K=V", typed_.labels, "Only runs with this label (repeat: all of them)");
    AddRepeated(runs, "--tool", "TOOL", typed_.runs.tools, "Only runs of this tool (repeat: any of them)");
    AddRepeated(runs, "--state", "STATE", typed_.states, "Only runs in this state (repeat: any of them)");
    runs->footer(
        "STATE is queued, preparing, running, collecting, done, failed or cancelled.\n\n"
        "  kprofctl runs --limit 5 --state failed --label model=llama");

    AddRunVerb("show", "All that is known of a run", [this] { return VerbArgs(ShowArgs{typed_.run}); });
    AddRunVerb("wait", "Wait for a run's end; exits as the capture would", [this] {
      return VerbArgs(WaitArgs{typed_.run});
    })->footer("Ctrl-C ends the waiting, not the run.\n\n  kprofctl wait @last");
    AddRunVerb("cancel", "End a run", [this] { return VerbArgs(CancelArgs{typed_.run}); });
    CLI::App* del = AddVerb("delete", "Remove ended, unpinned runs and all they left", [this]() -> Result<VerbArgs> {
      for (const std::string& run : typed_.del.runs) RETURN_IF_ERROR(CheckText("RUN", run));
      return VerbArgs(typed_.del);
    });
    del->add_option("RUN", typed_.del.runs, "Each as for 'kprofctl show'")->required()->type_name("");
    del->footer("  kprofctl delete @last @last~1");
    AddRunVerb("pin", "Keep a run until it is unpinned", [this] { return VerbArgs(PinArgs{typed_.run, true}); });
    AddRunVerb("unpin", "Let retention and delete have a run", [this] { return VerbArgs(PinArgs{typed_.run, false}); });

    CLI::App* logs = AddRunVerb("logs", "What a run's command printed", [this] {
      typed_.logs.run = typed_.run;
      return VerbArgs(typed_.logs);
    });
    logs->add_flag("-f,--follow", typed_.logs.follow, "Go on until the run has ended");
    logs->add_flag("--stderr", typed_.logs.from_stderr, "Its standard error instead of its standard output");
    logs->footer("  kprofctl logs @last -f");
  }

  Result<VerbArgs> FinishRuns() {
    ASSIGN_OR_RETURN(typed_.runs.labels, ParseLabels(typed_.labels));
    for (const std::string& tool : typed_.runs.tools) RETURN_IF_ERROR(CheckText("--tool", tool));
    for (const std::string& name : typed_.states) {
      std::optional<v1::RunState> state = RunStateByName(name);
      if (!state) {
        return Usage("--state '" + name + "' is no state",
                     "use queued, preparing, running, collecting, done, failed or cancelled");
      }
      typed_.runs.states.push_back(*state);
    }
    return VerbArgs(typed_.runs);
  }

  void AddArtifacts() {
    CLI::App* verb =
        AddRunVerb("artifacts", "Files that a run left", [this] { return VerbArgs(ListArtifactsArgs{typed_.run}); });
    verb->require_subcommand(0, 1);
    const std::string list_usage = "kprofctl artifacts RUN";
    const std::string get_usage = list_usage + " get NAME -o FILE|FOLDER|-";
    const std::string put_usage = list_usage + " put FILE|- [--name NAME]";
    const std::string indent = "\n       ";
    help_->SetUsage(*verb, list_usage + indent + get_usage + indent + put_usage);
    CLI::App* get = verb->add_subcommand("get", "Fetch one")->group("Verbs");
    help_->SetUsage(*get, get_usage);
    get->footer("  kprofctl artifacts @last get stdout.log -o out.log");
    get->add_option("NAME", typed_.get.name, "Which")->required()->type_name("");
    get->add_option("-o,--output", typed_.get.to, "Where to: a file, a folder or, with -, standard output")
        ->required()
        ->type_name("FILE");
    finish_.emplace_back(get, [this]() -> Result<VerbArgs> {
      RETURN_IF_ERROR(CheckText("NAME", typed_.get.name));
      typed_.get.run = typed_.run;
      return VerbArgs(typed_.get);
    });
    CLI::App* put = verb->add_subcommand("put", "Add a file to an ended run")->group("Verbs");
    help_->SetUsage(*put, put_usage);
    put->footer("  kprofctl artifacts @last put plot.png");
    put->add_option("FILE", typed_.put.from, "Which; - is standard input")->required()->type_name("");
    put->add_option("--name", typed_.put.name, "What to call it (default: as the file is called)")->type_name("NAME");
    finish_.emplace_back(put, [this] { return FinishPut(); });
  }

  Result<VerbArgs> FinishPut() {
    PutArtifactArgs& args = typed_.put;
    args.run = typed_.run;
    if (args.name.empty()) args.name = args.from.substr(args.from.rfind('/') + 1);
    if (args.from == "-" && args.name == "-") return Usage("standard input has no name", "give one with --name");
    if (args.name.empty()) return Usage("'" + args.from + "' names no file", "name a file, or - with --name");
    RETURN_IF_ERROR(CheckText("--name", args.name));
    return VerbArgs(args);
  }

  void AddDataVerbs() {
    CLI::App* query = AddVerb("query", "Ask the catalog with SQL", [this] { return FinishQuery(); });
    query->add_option("SQL", typed_.query.sql, "SQL, @FILE, or - for standard input")->required()->type_name("");
    query->add_option("--format", typed_.format, "table, csv, json or ndjson (default: table; with --json: json)")
        ->type_name("FORMAT");
    query->add_option("--timeout", typed_.timeout, "Give up after this long (default: 30s)")->type_name("DURATION");
    query->add_option("--limit", typed_.query.limit, "At most this many rows (default: 10000)")
        ->transform(WholeNumber(1, 10'000'000))
        ->type_name("N");
    query->footer(
        "Read-only, one statement. Tables and columns: docs/sql.md. Durations: 500ms 10s 5m 2h.\n\n"
        "  kprofctl query 'SELECT id, state, exit_code FROM run ORDER BY id DESC LIMIT 5'");

    CLI::App* backup = AddVerb("backup", "A consistent copy of the catalog, while the daemon works",
                               [this] { return VerbArgs(typed_.backup); });
    backup->add_option("FILE", typed_.backup.to, "Where to; - is standard output")->required()->type_name("");
    backup->footer(
        "'kprofd --user --restore FILE' puts it back, while no daemon runs.\n\n  kprofctl backup catalog-copy.db");

    CLI::App* completion = AddVerb("completion", "A script that makes a shell complete kprofctl",
                                   [this] { return VerbArgs(typed_.completion); });
    completion->add_option("SHELL", typed_.completion.shell, "bash, zsh or fish")
        ->required()
        ->type_name("")
        ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""));
    completion->footer("  source <(kprofctl completion bash)");
  }

  Result<VerbArgs> FinishQuery() {
    RETURN_IF_ERROR(CheckText("SQL", typed_.query.sql));
    if (typed_.query.sql == "@") return Usage("SQL '@' names no file", "write @FILE, or - for standard input");
    if (!typed_.format.empty()) {
      typed_.query.format = RowFormatByName(typed_.format);
      if (!typed_.query.format)
        return Usage("--format '" + typed_.format + "' is none", "use table, csv, json or ndjson");
    }
    ASSIGN_OR_RETURN(typed_.query.timeout_ms, ParseOptionalDuration("--timeout", typed_.timeout));
    return VerbArgs(typed_.query);
  }

  // "see 'kprofctl artifacts RUN get --help'": that of the innermost verb that was given.
  std::string SeeHelp() const {
    std::string words = app_.get_name();
    for (const CLI::App* app = &app_; !app->get_subcommands().empty();) {
      const CLI::App* verb = app->get_subcommands().front();
      for (const CLI::Option* option : app->get_options()) {
        if (option->get_positional()) words += " " + option->get_name();
      }
      words += " " + verb->get_name();
      app = verb;
    }
    return "see '" + words + " --help'";
  }

  // What an unset variable of a shell's leaves is a mistake, and no wish for the default.
  Status CheckNothingIsEmpty(const CLI::App& app) const {
    for (const CLI::Option* option : app.get_options()) {
      const std::vector<std::string> values = option->results();
      if (std::find(values.begin(), values.end(), "") == values.end()) continue;
      const bool can_go = !option->get_positional() && !option->get_required();
      return Usage(option->get_name() + " is empty",
                   can_go ? "give it a value, or leave it out for its default" : SeeHelp());
    }
    for (const CLI::App* verb : app.get_subcommands()) RETURN_IF_ERROR(CheckNothingIsEmpty(*verb));
    return OkStatus();
  }

  // A capture whose command stands before the --, or without it: what it has to look like.
  Status CheckCommandIsApart(const std::vector<std::string>& words) const {
    if (app_.get_subcommands().empty() || app_.get_subcommands().front()->get_name() != "capture") return OkStatus();
    constexpr size_t kVerbAndTool = 2;
    std::optional<size_t> command = FindPositional(words, SpellingsOf(Describe()), kVerbAndTool);
    if (!command) return OkStatus();
    std::vector<std::string_view> corrected = {"kprofctl"};
    corrected.insert(corrected.end(), words.begin(), words.end());
    corrected.insert(corrected.begin() + 1 + static_cast<std::ptrdiff_t>(*command), "--");
    return Usage("the command does not follow after --", "write: " + CommandText(corrected));
  }

  Typed typed_;
  const std::shared_ptr<HelpText> help_ = std::make_shared<HelpText>();  // CLI11 wants to share it
  CLI::App app_;
  std::vector<std::pair<CLI::App*, Finish>> finish_;
};

// The first word that is neither a global option nor its value: where a verb must stand. Nothing where an unknown
// option comes before it: which word is a verb cannot be told then.
std::optional<size_t> FindVerb(const std::vector<std::string>& args) {
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].empty() || args[i].front() != '-') return i;
    const std::string name = args[i].substr(0, args[i].find('='));
    const bool takes_value =
        std::find(std::begin(kGlobalWithValue), std::end(kGlobalWithValue), name) != std::end(kGlobalWithValue);
    if (!takes_value && args[i] != "--json") return std::nullopt;
    if (takes_value && name.size() == args[i].size()) ++i;
  }
  return std::nullopt;
}

}  // namespace

Result<CommandLine> ParseCommandLine(const std::vector<std::string>& args) {
  Grammar grammar;
  std::vector<std::string> words = args;
  std::vector<std::string> command;
  std::optional<size_t> verb = FindVerb(words);
  RETURN_IF_ERROR(CheckNotOfLaterVersion(verb ? words[*verb] : "", words));
  if (verb) {
    if (!grammar.HasVerb(words[*verb])) {
      return Usage("there is no verb '" + ReadableText(words[*verb]) + "'", "see 'kprofctl --help'");
    }
    if (words[*verb] == "capture") {
      // The command is bytes that nobody but its program interprets; CLI11 never sees them.
      auto mark = std::find(words.begin(), words.end(), "--");
      if (mark != words.end()) {
        command.assign(mark + 1, words.end());
        words.erase(mark, words.end());
      }
    }
  }
  return grammar.Parse(words, std::move(command));
}

bool WantsJson(const std::vector<std::string>& args) {
  auto end = std::find(args.begin(), args.end(), "--");
  return std::find(args.begin(), end, "--json") != end;
}

CommandDescription DescribeCommandLine() {
  return Grammar().Describe();
}

}  // namespace kprof::cli

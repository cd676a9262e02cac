#include "client/cli/grammar/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "client/cli/grammar/command_description.h"
#include "client/cli/grammar/grammar.h"
#include "client/cli/text/nearest_name.h"
#include "client/cli/text/terminal_text.h"
#include "client/cpp/kprof_client.h"
#include "storage/base/readable_text.h"

namespace kprof::cli {
namespace {

struct Later {
  std::string_view verb;    // empty: an option of every verb
  std::string_view option;  // empty: the verb itself
  const char* remedy;
};

constexpr Later kLater[] = {
    {"open", "", "see kprofctl show RUN"},
    {"node", "", "run kprofctl on the node itself"},
    {"cluster", "", "run kprofctl on each node itself"},
};

Status NotYet(const std::string& what, const char* remedy) {
  return Fail(ErrorCode::kUsage, "read the command line", what + " is not part of this version of kprofctl", remedy);
}

}  // namespace

Status CheckNotOfLaterVersion(const std::string& verb, const std::vector<std::string>& words) {
  for (const Later& later : kLater) {
    if (later.option.empty() && later.verb == verb) return NotYet("the verb '" + verb + "'", later.remedy);
  }
  for (size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    const std::string_view option = std::string_view(words[i]).substr(0, words[i].find('='));
    for (const Later& later : kLater) {
      if (later.option.empty() || later.option != option) continue;
      if (!later.verb.empty() && later.verb != verb) continue;
      return NotYet(std::string(option), later.remedy);
    }
  }
  return OkStatus();
}

namespace {

constexpr std::string_view kGlobalWithValue[] = {"--socket", "--node", "--ca", "--cert", "--key"};

// The one tool that every daemon has. It has no options of its own, in any version.
constexpr std::string_view kCommandTool = "command";

// The command is bytes that nobody but its program interprets; CLI11 never sees them.
Status TakeCommand(std::vector<std::string> command, CaptureArgs& capture) {
  capture.command = std::move(command);
  if (capture.list || capture.tool != kCommandTool || !capture.command.empty()) return OkStatus();
  return Usage("there is no command to run", "write it after --: kprofctl capture command -- CMD ARG...");
}

constexpr std::string_view kCompareVerb = "compare";
constexpr std::string_view kBaseline = "--baseline";

// The words after `compare` (RUN... --baseline RUN... and the analysis' other options) as analyze takes them: the
// baseline's runs are one value, with commas between.
Result<std::vector<std::string>> WordsOfCompare(const std::vector<std::string>& words) {
  std::vector<std::string> all = {"compare"};
  std::string baseline;
  const auto add = [&baseline](const std::string& run) { baseline += (baseline.empty() ? "" : ",") + run; };
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with(std::string(kBaseline) + "=")) {
      add(words[i].substr(kBaseline.size() + 1));
    } else if (words[i] != kBaseline) {
      all.push_back(words[i]);
      continue;
    }
    for (; i + 1 < words.size() && !words[i + 1].starts_with("-"); ++i) add(words[i + 1]);
  }
  if (baseline.empty()) {
    return Usage("there is nothing to compare with", "write kprofctl compare RUN... --baseline RUN...");
  }
  if (all.size() == 1 || all[1].starts_with("-")) {
    return Usage("there is no run to compare", "write it before --baseline: kprofctl compare RUN... --baseline RUN...");
  }
  all.insert(all.end(), {std::string(kBaseline), baseline});
  return all;
}

// KIND and RUN are there, or nothing but --list needs to be.
Status TakeWords(std::vector<std::string> words, AnalyzeArgs& analyze) {
  for (const std::string& word : words) RETURN_IF_ERROR(CheckText("WORD", word));
  analyze.words = std::move(words);
  if (!analyze.words.empty() || analyze.list) return OkStatus();
  return Usage("there is no analysis to make",
               "write kprofctl analyze KIND RUN; kprofctl analyze --list names the kinds");
}

// The whole command line: the options of all verbs, and the verbs.
class Grammar {
 public:
  Grammar() : app_("Measures on this node through kprofd, its profiling daemon.", "kprofctl") {
    verbs_.SetUsage(app_, "kprofctl [OPTIONS] VERB ...");
    app_.fallthrough();  // global options may stand after the verb; inherited by the verbs
    app_.require_subcommand(0, 1);
    app_.set_version_flag("--version", "kprofctl " + std::string(ClientVersion()),
                          "Print the client's version and exit");
    app_.add_option("--socket", global_.socket,
                    "The daemon's socket (default: $KPROF_SOCKET, else the user's daemon, else the system's)")
        ->type_name("PATH");
    app_.add_option("--node", global_.node, "A daemon on another node, over TLS (default: $KPROF_NODE)")
        ->type_name("HOST:PORT");
    app_.add_option("--ca", global_.ca, "Who may have signed the node's certificate (default: $KPROF_CA)")
        ->type_name("FILE");
    app_.add_option("--cert", global_.cert, "Your certificate for the node (default: $KPROF_CERT)")->type_name("FILE");
    app_.add_option("--key", global_.key, "Its private key (default: $KPROF_KEY)")->type_name("FILE");
    app_.add_flag("--json", global_.json, "Results and errors as one JSON object per line");
    AddNodeVerbs(verbs_);
    AddCaptureVerb(verbs_);
    AddRankExecVerb(verbs_);
    AddImportVerb(verbs_);
    AddSessionVerbs(verbs_);
    AddClocksVerbs(verbs_);
    AddPeaksVerbs(verbs_);
    AddRunVerbs(verbs_);
    AddArtifactVerbs(verbs_);
    AddExportVerb(verbs_);
    AddReportVerb(verbs_);
    AddAnalyzeVerb(verbs_);
    AddCompareVerb(verbs_);
    AddDataVerbs(verbs_);
    for (const auto& [verb, finish] : verbs_.all()) {
      std::string also = "Also: --json, --socket PATH and --node HOST:PORT, before or after the verb.";
      verb->footer(verb->get_footer().empty() ? also : verb->get_footer() + "\n\n" + also);
    }
    // Last: verbs inherit what is there when they are made.
    app_.footer(
        "  kprofctl capture command -- ./program --its-option\n"
        "  kprofctl show @last\n\n"
        "RUN is an id, a unique prefix of one, @last or @last~N. Durations: 500ms 10s 5m 2h.\n"
        "'kprofctl help VERB' explains a verb.");
  }
  Grammar(const Grammar&) = delete;
  Grammar& operator=(const Grammar&) = delete;

  // `command`: what stood after -- of a capture. `daemons`: the words of capture or analyze that only the daemon
  // understands.
  Result<CommandLine> Parse(const std::vector<std::string>& args, std::vector<std::string> command,
                            std::vector<std::string> daemons) {
    std::vector<std::string> words = WithEmptyValuesApart(args, SpellingsOf(Describe()));
    std::reverse(words.begin(), words.end());  // as CLI11 wants it
    try {
      app_.parse(words);
    } catch (const CLI::CallForHelp&) {
      return CommandLine{global_, HelpFor(args, daemons)};
    } catch (const CLI::CallForAllHelp&) {
      return CommandLine{global_, PrintText{app_.help("", CLI::AppFormatMode::All)}};
    } catch (const CLI::CallForVersion& version) {
      return CommandLine{global_, PrintText{std::string(version.what()) + "\n"}};
    } catch (const CLI::ExtrasError& error) {
      // More words than it takes: most likely what a shell made of a glob.
      if (std::find(args.begin(), args.end(), "--collect") != args.end()) {
        return Usage(error.what(),
                     "quote the glob of --collect, so that the shell leaves it alone, and write the "
                     "command after --: --collect 'out/*' -- CMD");
      }
      if (command.empty()) RETURN_IF_ERROR(CheckCommandIsApart(args));
      return Usage(error.what(), SuggestOption(args) + SeeHelp());
    } catch (const CLI::ParseError& error) {
      return Usage(error.what(), SeeHelp());
    }
    RETURN_IF_ERROR(CheckNothingIsEmpty(app_));
    for (const auto& [verb, finish] : verbs_.all()) {
      // The innermost verb: `artifacts RUN get` is also an `artifacts`.
      if (!verb->parsed() || !verb->get_subcommands().empty()) continue;
      ASSIGN_OR_RETURN(VerbArgs asked, finish());
      if (auto* capture = std::get_if<CaptureArgs>(&asked)) {
        RETURN_IF_ERROR(TakeCommand(std::move(command), *capture));
        capture->tool_words = std::move(daemons);
      } else if (auto* rank = std::get_if<RankExecArgs>(&asked)) {
        if (command.empty()) {
          return Usage("there is no command to run", "write it after --: kprofctl rank-exec -- CMD ARG...");
        }
        rank->command = std::move(command);
      } else if (auto* analyze = std::get_if<AnalyzeArgs>(&asked)) {
        if (verb->get_name() == kCompareVerb) {
          ASSIGN_OR_RETURN(daemons, WordsOfCompare(daemons));
        }
        RETURN_IF_ERROR(TakeWords(std::move(daemons), *analyze));
        RETURN_IF_ERROR(CheckOneForm(analyze->format, *verb));
      } else if (const auto* query = std::get_if<QueryArgs>(&asked)) {
        RETURN_IF_ERROR(CheckOneForm(query->format, *verb));
      }
      return CommandLine{global_, std::move(asked)};
    }
    return Usage("no verb", "see 'kprofctl --help'");
  }

  std::vector<std::string> Verbs() const {
    std::vector<std::string> names;
    for (const CLI::App* verb : app_.get_subcommands(nullptr)) names.push_back(verb->get_name());
    return names;
  }

  CommandDescription Describe() const { return DescribeApp(app_); }
  // The options that are known of one verb, and those of all.
  OptionSpellings SpellingsOfVerb(const std::string& name) const {
    CommandDescription program = Describe();
    std::erase_if(program.commands, [&name](const CommandDescription& verb) { return verb.name != name; });
    return SpellingsOf(program);
  }

 private:
  // A result has one form, and --json is one.
  Status CheckOneForm(const std::optional<RowFormat>& format, const CLI::App& verb) const {
    if (!global_.json || !format || *format == RowFormat::kJson || *format == RowFormat::kNdjson) return OkStatus();
    const std::string name = verb.get_option("--format")->results().front();
    return Usage("--json and --format " + name + " ask for two forms",
                 "leave one of both out; --json is --format json");
  }

  // The daemon knows more of a tool, and of an analysis. `args`: the words typed; `daemons`: as of Parse.
  VerbArgs HelpFor(const std::vector<std::string>& args, const std::vector<std::string>& daemons) const {
    const std::string text = app_.help();
    const std::string verb = app_.get_subcommands().empty() ? "" : app_.get_subcommands().front()->get_name();
    if (verb == "analyze" && !daemons.empty() && !daemons.front().starts_with('-')) {
      return HelpOfAnalysisArgs{daemons.front(), text};
    }
    constexpr size_t kVerb = 1;
    const std::optional<size_t> tool = FindPositional(args, SpellingsOf(Describe()), kVerb);
    if (verb == "capture" && tool && args[*tool] != kCommandTool) return HelpOfToolArgs{args[*tool], text};
    return PrintText{text};
  }

  // "did you mean '--json'? " where an unknown option is near a known one of its verb; else empty.
  std::string SuggestOption(const std::vector<std::string>& args) const {
    const std::string verb = app_.get_subcommands().empty() ? "" : app_.get_subcommands().front()->get_name();
    const OptionSpellings known = SpellingsOfVerb(verb);
    std::vector<std::string> names(known.flags.begin(), known.flags.end());
    names.insert(names.end(), known.valued.begin(), known.valued.end());
    std::erase_if(names, [](const std::string& name) { return !name.starts_with("--"); });
    for (const std::string& word : args) {
      const std::string option = word.substr(0, word.find('='));
      if (option == "--") break;
      if (!option.starts_with("--") || known.flags.contains(option) || known.valued.contains(option)) continue;
      return WithSuggestion(option, names, "");
    }
    return "";
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

  GlobalOptions global_;
  CLI::App app_;
  VerbSet verbs_{app_};
};

// The first word that is neither a global option nor its value: where a verb must stand. Nothing where an unknown
// option comes before it: which word is a verb cannot be told then.
std::optional<size_t> FindVerb(const std::vector<std::string>& args) {
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].empty() || args[i].front() != '-') return i;
    if (args[i] == "--help" || args[i] == "-h") continue;
    const std::string name = args[i].substr(0, args[i].find('='));
    const bool takes_value =
        std::find(std::begin(kGlobalWithValue), std::end(kGlobalWithValue), name) != std::end(kGlobalWithValue);
    if (!takes_value && args[i] != "--json") return std::nullopt;
    if (takes_value && name.size() == args[i].size()) ++i;
  }
  return std::nullopt;
}

// `kprofctl help VERB` is `kprofctl VERB --help`.
void TakeHelp(std::vector<std::string>& words, std::optional<size_t>& verb) {
  if (!verb || words[*verb] != "help") return;
  if (std::find(words.begin(), words.end(), "--help") != words.end()) return;  // of help itself
  words.erase(words.begin() + static_cast<std::ptrdiff_t>(*verb));
  words.emplace_back("--help");
  verb = FindVerb(words);
}

// The options of a tool, which follow it: the daemon knows them.
std::vector<std::string> TakeToolWords(std::vector<std::string>& words, size_t begin, const OptionSpellings& known) {
  std::vector<std::string> rest = words;
  std::vector<std::string> unknown = TakeUnknownWords(rest, begin, known);
  if (unknown.empty() || unknown[0].starts_with('-') || unknown[0] == kCommandTool) return {};
  rest.insert(rest.begin() + static_cast<std::ptrdiff_t>(begin), unknown[0]);
  words = std::move(rest);
  unknown.erase(unknown.begin());
  return unknown;
}

}  // namespace

Result<CommandLine> ParseCommandLine(const std::vector<std::string>& args) {
  Grammar grammar;
  std::vector<std::string> words = args;
  std::vector<std::string> command;
  std::optional<size_t> verb = FindVerb(words);
  TakeHelp(words, verb);
  RETURN_IF_ERROR(CheckNotOfLaterVersion(verb ? words[*verb] : "", words));
  if (verb) {
    const std::vector<std::string> verbs = grammar.Verbs();
    if (std::find(verbs.begin(), verbs.end(), words[*verb]) == verbs.end()) {
      return Usage("there is no verb '" + ReadableText(words[*verb]) + "'",
                   WithSuggestion(words[*verb], verbs, "see 'kprofctl --help'"));
    }
    if (words[*verb] == "capture" || words[*verb] == "rank-exec") {
      auto mark = std::find(words.begin(), words.end(), "--");
      if (mark != words.end()) {
        command.assign(mark + 1, words.end());
        words.erase(mark, words.end());
      }
    }
  }
  std::vector<std::string> daemons;
  if (verb && (words[*verb] == "analyze" || words[*verb] == kCompareVerb)) {
    daemons = TakeUnknownWords(words, *verb + 1, grammar.SpellingsOfVerb(words[*verb]));
  } else if (verb && words[*verb] == "capture") {
    daemons = TakeToolWords(words, *verb + 1, grammar.SpellingsOfVerb("capture"));
  }
  return grammar.Parse(words, std::move(command), std::move(daemons));
}

bool WantsJson(const std::vector<std::string>& args) {
  auto end = std::find(args.begin(), args.end(), "--");
  return std::find(args.begin(), end, "--json") != end;
}

CommandDescription DescribeCommandLine() {
  return Grammar().Describe();
}

}  // namespace kprof::cli

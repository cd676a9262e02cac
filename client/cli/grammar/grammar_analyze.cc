#include "client/cli/grammar/grammar.h"

namespace kprof::cli {
namespace {

struct AnalyzeWords {
  AnalyzeArgs args;
  std::string format;
  std::string timeout;
  std::string fail_on;

  Result<VerbArgs> Finish() {
    RETURN_IF_ERROR(CheckText("--table", args.table));
    if (!format.empty()) {
      args.format = RowFormatByName(format);
      if (!args.format || *args.format == RowFormat::kNdjson) {
        return Usage("--format '" + format + "' is none", "use table, csv or json");
      }
    }
    if (!fail_on.empty()) {
      ASSIGN_OR_RETURN(args.fail_on, ParseFailOn(fail_on));
    }
    ASSIGN_OR_RETURN(args.timeout_ms, ParseOptionalDuration("--timeout", timeout));
    return VerbArgs(args);
  }
};

// The options that both verbs have.
void AddAnswerOptions(CLI::App& verb, const std::shared_ptr<AnalyzeWords>& words) {
  verb.add_option("--format", words->format, "table, csv or json (default: table; with --json: json)")
      ->type_name("FORMAT");
  verb.add_option("--table", words->args.table, "This table alone (default: all; with csv the primary one)")
      ->type_name("NAME");
  verb.add_flag("--wide", words->args.wide, "All columns and whole names, however narrow the terminal is");
  verb.add_option("--timeout", words->timeout, "Give up after this long (default: 30s)")->type_name("DURATION");
}

}  // namespace

void AddAnalyzeVerb(VerbSet& verbs) {
  auto words = std::make_shared<AnalyzeWords>();
  CLI::App* verb =
      verbs.Add("analyze", "Answer a question about runs' traces with tables", [words] { return words->Finish(); });
  verbs.SetUsage(*verb,
                 std::string("kprofctl analyze KIND RUN... [OPTIONS]") + kNextUsage + "kprofctl analyze --list [KIND]");
  verb->add_flag("--list", words->args.list, "The kinds of analyses, or of one its options and tables");
  AddAnswerOptions(*verb, words);
  verb->footer(
      "KIND and its further options are the daemon's: --list tells them. Many kinds take --rank N, --device N,\n"
      "--from NS, --to NS, --step N, --window trace|hta and --limit N. Pages: docs/analyses.\n\n"
      "  kprofctl analyze --list\n"
      "  kprofctl analyze temporal-breakdown @last\n"
      "  kprofctl analyze temporal-breakdown @last --rank 0 --window hta --json\n"
      "  kprofctl analyze lines label:job=night      # all runs with this label");
}

void AddCompareVerb(VerbSet& verbs) {
  auto words = std::make_shared<AnalyzeWords>();
  CLI::App* verb = verbs.Add("compare", "Tell what changed since a baseline, by how much, and where",
                             [words] { return words->Finish(); });
  verbs.SetUsage(*verb, "kprofctl compare RUN... --baseline RUN... [OPTIONS]");
  verb->add_option("--fail-on", words->fail_on, "slower or inconclusive: then such a verdict exits with 9")
      ->type_name("VERDICT");
  AddMarkdown(verb, words->args.markdown);
  AddAnswerOptions(*verb, words);
  verb->footer(
      "The runs' traces are compared: totals, steps, kernels, operators. It is the analysis `compare`, whose options\n"
      "--rank N, --device N, --from NS, --to NS, --step N and --limit N it takes. A single trace on a side makes the\n"
      "verdict INCONCLUSIVE. --fail-on inconclusive fails for SLOWER as well. Page: docs/analyses/compare.md, and\n"
      "kprofctl analyze --list compare.\n\n"
      "  kprofctl compare @last --baseline @last~1\n"
      "  kprofctl compare @last --baseline @last~1 --step 3 --json");
}

}  // namespace kprof::cli

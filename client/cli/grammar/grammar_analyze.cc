#include "client/cli/grammar/grammar.h"

namespace kprof::cli {
namespace {

struct AnalyzeWords {
  AnalyzeArgs args;
  std::string format;
  std::string timeout;

  Result<VerbArgs> Finish() {
    RETURN_IF_ERROR(CheckText("--table", args.table));
    if (!format.empty()) {
      args.format = RowFormatByName(format);
      if (!args.format || *args.format == RowFormat::kNdjson) {
        return Usage("--format '" + format + "' is none", "use table, csv or json");
      }
    }
    ASSIGN_OR_RETURN(args.timeout_ms, ParseOptionalDuration("--timeout", timeout));
    return VerbArgs(args);
  }
};

}  // namespace

void AddAnalyzeVerb(VerbSet& verbs) {
  auto words = std::make_shared<AnalyzeWords>();
  CLI::App* verb =
      verbs.Add("analyze", "Answer a question about runs' traces with tables", [words] { return words->Finish(); });
  verbs.SetUsage(*verb,
                 std::string("kprofctl analyze KIND RUN... [OPTIONS]") + kNextUsage + "kprofctl analyze --list [KIND]");
  verb->add_flag("--list", words->args.list, "The kinds of analyses, or of one its options and tables");
  verb->add_option("--format", words->format, "table, csv or json (default: table; with --json: json)")
      ->type_name("FORMAT");
  verb->add_option("--table", words->args.table, "This table alone (default: all; with csv the primary one)")
      ->type_name("NAME");
  verb->add_option("--timeout", words->timeout, "Give up after this long (default: 30s)")->type_name("DURATION");
  verb->footer(
      "KIND and its further options are the daemon's: --list tells them. Many kinds take --rank N, --device N,\n"
      "--from NS, --to NS, --step N, --window trace|hta and --limit N. Pages: docs/analyses.\n\n"
      "  kprofctl analyze --list\n"
      "  kprofctl analyze temporal-breakdown @last\n"
      "  kprofctl analyze temporal-breakdown @last --rank 0 --window hta --json");
}

}  // namespace kprof::cli

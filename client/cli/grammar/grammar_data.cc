#include "client/cli/grammar/grammar.h"

namespace kprof::cli {
namespace {

struct QueryWords {
  QueryArgs args;
  std::string format;
  std::string timeout;

  Result<VerbArgs> Finish() {
    RETURN_IF_ERROR(CheckText("SQL", args.sql));
    for (const std::string& run : args.runs) RETURN_IF_ERROR(CheckText("RUN", run));
    if (args.sql == "@") return Usage("SQL '@' names no file", "write @FILE, or - for standard input");
    if (!format.empty()) {
      args.format = RowFormatByName(format);
      if (!args.format) return Usage("--format '" + format + "' is none", "use table, csv, json or ndjson");
    }
    ASSIGN_OR_RETURN(args.timeout_ms, ParseOptionalDuration("--timeout", timeout));
    return VerbArgs(args);
  }
};

void AddQuery(VerbSet& verbs) {
  auto words = std::make_shared<QueryWords>();
  CLI::App* query =
      verbs.Add("query", "Ask the catalog, and runs' traces, with SQL", [words] { return words->Finish(); });
  query->add_option("SQL", words->args.sql, "SQL, @FILE, or - for standard input")->required()->type_name("");
  AddRepeated(query, "--run", "RUN", words->args.runs, "Its trace, too (repeatable)");
  query->add_option("--format", words->format, "table, csv, json or ndjson (default: table; with --json: json)")
      ->type_name("FORMAT");
  query->add_flag("--wide", words->args.wide, "All columns and whole names, however narrow the terminal is");
  query->add_option("--timeout", words->timeout, "Give up after this long (default: 30s)")->type_name("DURATION");
  query->add_option("--limit", words->args.limit, "At most this many rows (default: 10000)")
      ->transform(WholeNumber(1, 10'000'000))
      ->type_name("N");
  query->footer(
      "Read-only, one statement. Tables and columns: docs/sql.md. Durations: 500ms 10s 5m 2h.\n\n"
      "  kprofctl query 'SELECT id, state, exit_code FROM run ORDER BY id DESC LIMIT 5'\n"
      "  kprofctl query --run @last 'SELECT name, sum(dur_ns) FROM slice GROUP BY name ORDER BY 2 DESC LIMIT 10'\n"
      "  kprofctl query --run @last \"SELECT name, sum_ns, p99_ns FROM sum_by('name') WHERE category = 'kernel'\"\n\n"
      "With --run, sum_by, self_time, busy, gaps, overlap and histogram sum up slices fast, correlated pairs those\n"
      "of one correlation, and tiles, instant_tiles and counter_tiles say what to draw.");
}

void AddBackup(VerbSet& verbs) {
  auto args = std::make_shared<BackupArgs>();
  CLI::App* backup = verbs.Add("backup", "A consistent copy of the catalog, while the daemon works",
                               [args] { return VerbArgs(*args); });
  backup->add_option("FILE", args->to, "Where to; - is standard output")->required()->type_name("");
  backup->footer(
      "'kprofd --user --restore FILE' puts it back, while no daemon runs.\n\n  kprofctl backup catalog-copy.db");
}

void AddCompletion(VerbSet& verbs) {
  auto args = std::make_shared<CompletionArgs>();
  CLI::App* completion =
      verbs.Add("completion", "A script that makes a shell complete kprofctl", [args]() -> Result<VerbArgs> {
        if (!args->shell.empty() || !args->words.empty()) return VerbArgs(*args);
        return Usage("SHELL is required", "say bash, zsh or fish");
      });
  completion->add_option("SHELL", args->shell, "bash, zsh or fish")
      ->type_name("")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""));
  completion
      ->add_option("--words", args->words, "What scripts ask: print the runs, sessions, tools, devices or analyses")
      ->type_name("KIND")
      ->check(CLI::IsMember({"runs", "sessions", "tools", "devices", "analyses"}).description(""));
  completion->footer("  source <(kprofctl completion bash)");
}

void AddMcp(VerbSet& verbs) {
  CLI::App* mcp = verbs.Add("mcp", "Serve agents over the Model Context Protocol, on standard input and output",
                            [] { return VerbArgs(McpArgs()); });
  mcp->footer(
      "An editor or an agent starts it; its configuration says how:\n\n"
      "  {\"mcpServers\": {\"kprof\": {\"command\": \"kprofctl\", \"args\": [\"mcp\"]}}}");
}

// Its words become VERB --help before they are parsed (command_line.cc); this is for --help and completion.
void AddHelp(VerbSet& verbs) {
  auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* help = verbs.Add("help", "What a verb does, and its options", [words]() -> Result<VerbArgs> {
    return Usage("the verb to explain is missing", "write kprofctl help VERB");
  });
  help->add_option("VERB", *words, "The verb to explain; none: all verbs")->type_name("");
  help->footer("  kprofctl help capture\n  kprofctl help session open");
}

}  // namespace

void AddDataVerbs(VerbSet& verbs) {
  AddQuery(verbs);
  AddBackup(verbs);
  AddCompletion(verbs);
  AddMcp(verbs);
  AddHelp(verbs);
}

}  // namespace kprof::cli

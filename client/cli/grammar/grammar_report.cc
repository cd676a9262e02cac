#include "client/cli/grammar/grammar.h"

namespace kprof::cli {
namespace {

struct ReportWords {
  ReportArgs args;

  Result<VerbArgs> Finish() {
    RETURN_IF_ERROR(CheckText("RUN", args.run));
    RETURN_IF_ERROR(CheckText("--baseline", args.baseline));
    RETURN_IF_ERROR(CheckText("--file", args.file));
    return VerbArgs(args);
  }
};

}  // namespace

void AddReportVerb(VerbSet& verbs) {
  auto words = std::make_shared<ReportWords>();
  CLI::App* verb =
      verbs.Add("report", "What bounds a run's kernels, and what to try", [words] { return words->Finish(); });
  verb->add_option("RUN", words->args.run, kRunHelp)->required()->type_name("");
  verb->add_option("--format", words->args.format, "md (default), or json")
      ->transform(CLI::IsMember({"md", "json"}))
      ->type_name("FORMAT");
  verb->add_option("--baseline", words->args.baseline, "Compare with this run (default: the one it was captured with)")
      ->type_name("RUN");
  verb->add_option("--policy", words->args.policy,
                   "What judges kernels, as in analyze roofline: sol-95-60 (default), or tc60-dram70")
      ->type_name("POLICY");
  verb->add_flag("--devlog", words->args.devlog, "The block for a kernel's development log");
  verb->add_option("--file", words->args.file, "One file of the report, as report-verbose.md")
      ->type_name("NAME")
      ->excludes("--format")
      ->excludes("--devlog");
  verb->add_option("-o,--output", words->args.to,
                   "Where to: a file, or a folder, which gets all files of the report (default: standard output)")
      ->type_name("FILE");
  verb->footer(
      "A folder gets report.md, report-verbose.md, report.json, devlog.md, the charts, tables and sources:\n"
      "docs/reports.md. A NAME that it does not have is refused with those that it has.\n\n"
      "  kprofctl report @last --baseline @last~1\n"
      "  kprofctl report @last --file report-verbose.md\n"
      "  kprofctl report @last -o report/");
}

}  // namespace kprof::cli

#include "client/cli/grammar/grammar.h"

namespace kprof::cli {
namespace {

constexpr int64_t kMostImportedRank = 1 << 24;

struct ImportWords {
  ImportArgs args;
  int64_t rank = -1;
  std::vector<std::string> labels;

  Result<VerbArgs> Finish() {
    RETURN_IF_ERROR(CheckText("--format", args.format));
    if (rank >= 0) args.rank = rank;
    if (args.one_run && args.separate) {
      return Fail(ErrorCode::kUsage, "import", "--one-run and --separate say opposite things", "give one of them");
    }
    ASSIGN_OR_RETURN(args.labels, ParseLabels(labels));
    return VerbArgs(args);
  }
};

}  // namespace

void AddImportVerb(VerbSet& verbs) {
  auto words = std::make_shared<ImportWords>();
  ImportArgs& args = words->args;
  CLI::App* verb =
      verbs.Add("import", "Read traces into a run, to keep and to ask", [words] { return words->Finish(); });
  verb->add_option("FILE", args.files, "Traces, folders of traces, or - for standard input")->required()->type_name("");
  verb->add_option(
          "--format", args.format,
          "What they are: kineto, chrome, pftrace, nsys-sqlite, ncu-rep, ncu-csv, nccl-inspector, scalene, event, "
          "neuron-json, neuron-parquet, neuron-system, nkipy (default: auto)")
      ->type_name("FORMAT");
  verb->add_option("--rank", words->rank, "Of the one file (default: as it says)")
      ->transform(WholeNumber(0, kMostImportedRank))
      ->type_name("N");
  verb->add_flag("--one-run", args.one_run, "All files are ranks of one run, whatever they say");
  verb->add_flag("--separate", args.separate, "Each file is a run of its own");
  AddRepeated(verb, "--label", "K=V", words->labels, "A note by which runs are found (repeat)");
  verb->add_flag("--keep-source", args.keep_source, "Keep the files themselves, too, as artifacts");
  verb->add_flag("--again", args.again, "Also where the same files were imported before");
  verb->add_flag("--shared", args.shared, "Others may see the run");
  verb->add_flag("--detach", args.detach, "Print the id and do not wait");
  verb->footer(
      "The files of one job are one run, with a part for each rank; files of other jobs, and those that say nothing "
      "of\n"
      "one, are runs of their own. The same files imported again are the run that is there. Ctrl-C cancels the "
      "import;\n"
      "a second one leaves at once.\n"
      "A NEFF and NTFFs of it are made readable by the Neuron tools first (kprofctl capture neuron FILE.neff "
      "--ntff).\n\n"
      "  kprofctl import trace.json.gz --label job=7\n"
      "  kprofctl import file.neff profile_exec_2.ntff");
}

}  // namespace kprof::cli

#include "client/cli/grammar/grammar.h"

namespace kprof::cli {
namespace {

struct ArtifactWords {
  std::string run;
  GetArtifactArgs get;
  PutArtifactArgs put;

  Result<VerbArgs> FinishList() {
    RETURN_IF_ERROR(CheckText("RUN", run));
    return VerbArgs(ListArtifactsArgs{run});
  }

  Result<VerbArgs> FinishGet() {
    RETURN_IF_ERROR(CheckText("RUN", run));
    RETURN_IF_ERROR(CheckText("NAME", get.name));
    get.run = run;
    return VerbArgs(get);
  }

  Result<VerbArgs> FinishPut() {
    RETURN_IF_ERROR(CheckText("RUN", run));
    put.run = run;
    if (put.name.empty()) put.name = put.from.substr(put.from.rfind('/') + 1);
    if (put.from == "-" && put.name == "-") return Usage("standard input has no name", "give one with --name");
    if (put.name.empty()) return Usage("'" + put.from + "' names no file", "name a file, or - with --name");
    RETURN_IF_ERROR(CheckText("--name", put.name));
    return VerbArgs(put);
  }
};

}  // namespace

void AddArtifactVerbs(VerbSet& verbs) {
  const std::string list_usage = "kprofctl artifacts RUN";
  const std::string get_usage = list_usage + " get NAME -o FILE|FOLDER|-";
  const std::string put_usage = list_usage + " put FILE|- [--name NAME]";
  auto words = std::make_shared<ArtifactWords>();
  CLI::App* list = verbs.Add("artifacts", "Files that a run left", [words] { return words->FinishList(); });
  list->add_option("RUN", words->run, kRunHelp)->required()->type_name("");
  list->require_subcommand(0, 1);
  verbs.SetUsage(*list, list_usage + kNextUsage + get_usage + kNextUsage + put_usage);
  list->footer("  kprofctl artifacts @last");

  CLI::App* get = verbs.AddBelow(list, "get", "Fetch one", [words] { return words->FinishGet(); });
  get->add_option("NAME", words->get.name, "Which")->required()->type_name("");
  get->add_option("-o,--output", words->get.to, "Where to: a file, a folder or, with -, standard output")
      ->required()
      ->type_name("FILE");
  verbs.SetUsage(*get, get_usage);
  get->footer("  kprofctl artifacts @last get stdout.log -o out.log");

  CLI::App* put = verbs.AddBelow(list, "put", "Add a file to an ended run", [words] { return words->FinishPut(); });
  put->add_option("FILE", words->put.from, "Which; - is standard input")->required()->type_name("");
  put->add_option("--name", words->put.name, "What to call it (default: as the file is called)")->type_name("NAME");
  verbs.SetUsage(*put, put_usage);
  put->footer("  kprofctl artifacts @last put plot.png");
}

}  // namespace kprof::cli

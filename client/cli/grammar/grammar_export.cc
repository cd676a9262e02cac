#include "client/cli/grammar/grammar.h"

namespace kprof::cli {
namespace {

constexpr int64_t kMostExportedRank = 1 << 24;

struct ExportWords {
  ExportArgs args;
  int64_t rank = -1;
  std::vector<std::string> path_maps;

  Result<VerbArgs> Finish() {
    RETURN_IF_ERROR(CheckText("RUN", args.run));
    RETURN_IF_ERROR(CheckText("--format", args.format));
    if (rank >= 0) args.rank = rank;
    for (const std::string& map : path_maps) {
      RETURN_IF_ERROR(CheckText("--map-path", map));
      const size_t equals = map.find('=');
      if (equals == 0 || equals == std::string::npos || equals + 1 == map.size()) {
        return Usage("--map-path '" + map + "' is not FROM=TO", "write it like --map-path /workspace=/home/me/model");
      }
      args.path_maps.emplace_back(map.substr(0, equals), map.substr(equals + 1));
    }
    if (!args.path_maps.empty() && args.format != "scalene") {
      return Usage("--map-path is for --format scalene", "leave it out");
    }
    return VerbArgs(args);
  }
};

}  // namespace

void AddExportVerb(VerbSet& verbs) {
  auto words = std::make_shared<ExportWords>();
  CLI::App* verb = verbs.Add("export", "Write a run's trace for another reader", [words] { return words->Finish(); });
  verb->add_option("RUN", words->args.run, kRunHelp)->required()->type_name("");
  verb->add_option("--format", words->args.format, "chrome, perfetto, csv, scalene or profiles")
      ->required()
      ->type_name("FORMAT");
  verb->add_option("-o,--output", words->args.to,
                   "Where to: a file, a folder (a file for each rank) or, with -, standard output")
      ->required()
      ->type_name("FILE");
  verb->add_option("--rank", words->rank, "This rank alone (default: all, in one file side by side)")
      ->transform(WholeNumber(0, kMostExportedRank))
      ->type_name("N");
  AddRepeated(verb, "--map-path", "FROM=TO", words->path_maps,
              "scalene: paths in its profile that begin with FROM are those with TO, as after a container (repeat)");
  verb->footer(
      "chrome opens in chrome://tracing and ui.perfetto.dev, and imports again as the same rows; perfetto is smaller\n"
      "and opens faster there; csv has the slices alone. profiles is a folder tree for -o FOLDER, with the run's "
      "report\n"
      "and its files: out/profiles/TOOL/KERNEL/PARAMS/TIME. What each keeps: docs/exports.md.\n\n"
      "  kprofctl export @last --format perfetto -o trace.pftrace\n"
      "  kprofctl export @last --format chrome -o - | gzip > trace.json.gz");
}

}  // namespace kprof::cli

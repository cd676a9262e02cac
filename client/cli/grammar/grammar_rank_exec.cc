#include "client/cli/grammar/grammar.h"

namespace kprof::cli {
namespace {

struct RankExecWords {
  RankExecArgs args;
  std::vector<std::string> labels;

  Result<VerbArgs> Finish() {
    RETURN_IF_ERROR(CheckText("--job", args.job));
    RETURN_IF_ERROR(CheckText("--device", args.device));
    ASSIGN_OR_RETURN(args.labels, ParseLabels(labels));
    RETURN_IF_ERROR(ParseOptionalDuration("--timeout", args.timeout).status());
    RETURN_IF_ERROR(ParseOptionalDuration("--queue-timeout", args.queue_timeout).status());
    for (const char* own : {"job", "rank", "world_size", "local_rank", "restart"}) {
      if (args.labels.contains(own))
        return Usage(std::string("the label ") + own + " is the rank's own", "leave it out");
    }
    return VerbArgs(args);
  }
};

}  // namespace

void AddRankExecVerb(VerbSet& verbs) {
  auto words = std::make_shared<RankExecWords>();
  RankExecArgs& args = words->args;
  CLI::App* verb = verbs.Add("rank-exec", "Run one rank of a distributed job, with its kernel calls recorded",
                             [words] { return words->Finish(); });
  verb->add_flag("--scalene", args.scalene, "Rank 0 runs under Scalene as well");
  verb->add_option("--job", args.job, "The job's name, a label of all its ranks (default: one of this launch's own)")
      ->type_name("NAME");
  verb->add_option("--device", args.device, "As of capture (default: the devices of the rank's own NeuronCores)")
      ->type_name("SEL");
  AddRepeated(verb, "--wrap", "MODULE:PATH", args.wraps, "Record the calls of this Python function, too (repeat)");
  AddRepeated(verb, "--label", "K=V", words->labels, "A note by which runs are found (repeat)");
  verb->add_option("--timeout", args.timeout, "End the rank after this long (default: never, or the node's longest)")
      ->type_name("DURATION");
  verb->add_option("--queue-timeout", args.queue_timeout, "Give up when it has waited this long (default: 10m)")
      ->type_name("DURATION");
  verb->add_flag("--quiet", args.quiet, "Do not show what the rank prints");
  verbs.SetUsage(*verb, "kprofctl rank-exec [OPTIONS] -- CMD ARG...");
  verb->footer(
      "For a launcher that starts one process for each rank and sets RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR. Each\n"
      "rank is a run of its own, on its share of the NeuronCores, with the labels job, rank, local_rank, "
      "world_size.\n\n"
      "  torchrun --nproc-per-node 2 --no-python kprofctl rank-exec --scalene -- python train.py --steps 10\n"
      "  kprofctl analyze lines label:job=NAME");
}

}  // namespace kprof::cli

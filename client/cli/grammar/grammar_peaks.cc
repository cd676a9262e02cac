#include "client/cli/grammar/grammar.h"

namespace kprof::cli {
namespace {

void AddRecord(VerbSet& verbs, CLI::App* peaks) {
  auto args = std::make_shared<RecordCeilingArgs>();
  CLI::App* record = verbs.AddBelow(peaks, "record", "Note what a benchmark has reached", [args]() -> Result<VerbArgs> {
    RETURN_IF_ERROR(CheckText("RUN", args->run));
    RETURN_IF_ERROR(CheckText("--of", args->of));
    RETURN_IF_ERROR(CheckText("--value", args->value));
    return VerbArgs(*args);
  });
  record->add_option("RUN", args->run, kRunHelp)->required()->type_name("");
  record->add_option("--of", args->of, "copy, or the dtype of a matrix product: bf16, fp16, tf32, fp8, fp4, fp64")
      ->required()
      ->type_name("WHAT");
  record
      ->add_option(
          "--value", args->value,
          "The number, with its unit (default: of the last line of its output that begins with kprof-ceiling:)")
      ->type_name("'N UNIT'");
  verbs.SetUsage(*record, "kprofctl peaks record RUN --of WHAT [--value 'N UNIT']");
  record->footer(
      "The run has ended well and had one device, whole. For operators. What was noted of that quantity\n"
      "before goes.\n\n"
      "  kprofctl capture command --device 0 --exclusive -- ./copy-benchmark\n"
      "  kprofctl peaks record @last --of copy --value '3021.5 GB/s'");
}

void AddForget(VerbSet& verbs, CLI::App* peaks) {
  auto args = std::make_shared<ForgetCeilingsArgs>();
  CLI::App* forget =
      verbs.AddBelow(peaks, "forget", "Forget what was reached on a device", [args]() -> Result<VerbArgs> {
        RETURN_IF_ERROR(CheckText("--device", args->device));
        return VerbArgs(*args);
      });
  forget->add_option("--device", args->device, "Its id or its UUID")->required()->type_name("DEVICE");
  verbs.SetUsage(*forget, "kprofctl peaks forget --device DEVICE");
  forget->footer("  kprofctl peaks forget --device 0");
}

}  // namespace

void AddPeaksVerbs(VerbSet& verbs) {
  auto args = std::make_shared<PeaksArgs>();
  CLI::App* peaks =
      verbs.Add("peaks", "What devices can do at most, and what was reached", [args]() -> Result<VerbArgs> {
        RETURN_IF_ERROR(CheckText("--device", args->device));
        return VerbArgs(*args);
      });
  peaks->add_option("--device", args->device, "Its id or its UUID (default: all)")->type_name("DEVICE");
  peaks->require_subcommand(0, 1);
  verbs.SetUsage(*peaks, std::string("kprofctl peaks [--device DEVICE]") + kNextUsage +
                             "kprofctl peaks record RUN --of WHAT [--value 'N UNIT']" + kNextUsage +
                             "kprofctl peaks forget --device DEVICE");
  peaks->footer("What the numbers are, and where from: docs/peaks.md.\n\n  kprofctl peaks --device 0");
  AddRecord(verbs, peaks);
  AddForget(verbs, peaks);
}

}  // namespace kprof::cli

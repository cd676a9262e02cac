#include "client/cli/grammar/grammar.h"

namespace kprof::cli {
namespace {

constexpr int64_t kMostMhz = 100'000;

Status CheckMhz(const char* option, const CLI::Option* given, int64_t mhz) {
  if (given->count() == 0 || (mhz > 0 && mhz <= kMostMhz)) return OkStatus();
  return Usage(std::string(option) + " " + std::to_string(mhz) + " is no clock",
               "give it in MHz; kprofctl devices --json has those that a device offers");
}

void AddStatus(VerbSet& verbs, CLI::App* clocks) {
  CLI::App* status =
      verbs.AddBelow(clocks, "status", "What is locked, and for whom", [] { return VerbArgs(ClocksStatusArgs{}); });
  status->footer("  kprofctl clocks status --json");
}

void AddLock(VerbSet& verbs, CLI::App* clocks) {
  struct Words {
    LockClocksArgs args;
    std::string ttl;
    std::string queue_timeout;
    const CLI::Option* sm = nullptr;
    const CLI::Option* memory = nullptr;
  };
  auto words = std::make_shared<Words>();
  CLI::App* lock = verbs.AddBelow(clocks, "lock", "Lease devices and lock their clocks", [words]() -> Result<VerbArgs> {
    LockClocksArgs& args = words->args;
    RETURN_IF_ERROR(CheckText("--device", args.device));
    RETURN_IF_ERROR(CheckMhz("--sm", words->sm, args.sm_mhz));
    RETURN_IF_ERROR(CheckMhz("--mem", words->memory, args.memory_mhz));
    ASSIGN_OR_RETURN(args.ttl_ms, ParseOptionalDuration("--ttl", words->ttl));
    ASSIGN_OR_RETURN(args.queue_timeout_ms, ParseOptionalDuration("--queue-timeout", words->queue_timeout));
    return VerbArgs(args);
  });
  lock->add_option("--device", words->args.device, "0 | 0,1 | UUID | all")->required()->type_name("SEL");
  words->sm = lock->add_option("--sm", words->args.sm_mhz, "The SM clock (default: one that the device holds)")
                  ->type_name("MHZ");
  words->memory = lock->add_option("--mem", words->args.memory_mhz, "The memory clock (default: it is left alone)")
                      ->type_name("MHZ");
  lock->add_option("--ttl", words->ttl, "They are given back after this long (default: 1h)")->type_name("DURATION");
  lock->add_option("--queue-timeout", words->queue_timeout, "Give up when it has waited this long (default: never)")
      ->type_name("DURATION");
  verbs.SetUsage(*lock, "kprofctl clocks lock --device SEL [OPTIONS]");
  lock->footer(
      "The devices are leased for as long as that: it is a session, whose id is printed, and captures\n"
      "with --session ID run in it. Where the clocks cannot be locked nothing is leased.\n\n"
      "  kprofctl clocks lock --device 0 --sm 1500 --ttl 30m");
}

void AddRelease(VerbSet& verbs, CLI::App* clocks) {
  auto args = std::make_shared<ReleaseClocksArgs>();
  CLI::App* release =
      verbs.AddBelow(clocks, "release", "Give back what 'clocks lock' has locked", [args]() -> Result<VerbArgs> {
        RETURN_IF_ERROR(CheckText("--device", args->device));
        return VerbArgs(*args);
      });
  release->add_option("--device", args->device, "0 | 0,1 | UUID | all (default: all that you have locked)")
      ->type_name("SEL");
  verbs.SetUsage(*release, "kprofctl clocks release [--device SEL]");
  release->footer("  kprofctl clocks release --device 0");
}

}  // namespace

void AddClocksVerbs(VerbSet& verbs) {
  CLI::App* clocks = verbs.Add("clocks", "See, lock and release devices' clocks", []() -> Result<VerbArgs> {
    return Usage("what to do with the clocks is missing", "say status, lock or release");
  });
  clocks->require_subcommand(0, 1);
  verbs.SetUsage(*clocks, std::string("kprofctl clocks status") + kNextUsage +
                              "kprofctl clocks lock --device SEL [OPTIONS]" + kNextUsage +
                              "kprofctl clocks release [--device SEL]");
  clocks->footer(
      "A capture locks by itself: kprofctl capture command --clocks lock -- CMD. See docs/clocks.md.\n\n"
      "  kprofctl clocks lock --device 0 --ttl 30m\n"
      "  kprofctl clocks release");
  AddStatus(verbs, clocks);
  AddLock(verbs, clocks);
  AddRelease(verbs, clocks);
}

}  // namespace kprof::cli

#include "client/cli/grammar/grammar.h"

namespace kprof::cli {
namespace {

struct AuditWords {
  AuditArgs args;
  std::string since;
};

void AddAudit(VerbSet& verbs) {
  auto words = std::make_shared<AuditWords>();
  CLI::App* audit =
      verbs.Add("audit", "Who did what to which device when, newest first; for admins", [words]() -> Result<VerbArgs> {
        ASSIGN_OR_RETURN(words->args.since_ms, ParseOptionalDuration("--since", words->since));
        return VerbArgs(words->args);
      });
  AddLimit(audit, words->args.limit);
  audit->add_option("--since", words->since, "Only of the last so long (default: of any time)")->type_name("DURATION");
  audit->add_option("--uid", words->args.uid, "Only what this user did, or was done for this user")
      ->transform(WholeNumber(0, UINT32_MAX))
      ->type_name("UID");
  audit->footer("Durations: 500ms 10s 5m 2h. The words are explained in docs/audit.md.\n\n  kprofctl audit --since 2h");
}

}  // namespace

void AddNodeVerbs(VerbSet& verbs) {
  verbs.Add("status", "The daemon: version, uptime, devices, queue, storage", [] { return VerbArgs(StatusArgs()); });
  auto devices = std::make_shared<DevicesArgs>();
  CLI::App* verb =
      verbs.Add("devices", "What can be measured on, and who holds it", [devices] { return VerbArgs(*devices); });
  CLI::Option* watch = verb->add_flag("--watch", devices->watch, "A live view, until q or Ctrl-C");
  verb->add_flag("--events", devices->events, "What befalls them, a line each as it happens, until Ctrl-C")
      ->excludes(watch);
  verb->footer(
      "Without a terminal, and with --json, --watch prints the list again every second.\n\n"
      "  kprofctl devices --watch\n"
      "  kprofctl devices --events --json");
  verbs.Add("doctor", "What on this node keeps kprofd from measuring well, each with its remedy",
            [] { return VerbArgs(DoctorArgs()); });
  AddAudit(verbs);
}

}  // namespace kprof::cli

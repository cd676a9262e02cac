#include "client/cli/waiting/progress.h"

#include <cstdlib>
#include <string_view>

#include "client/cli/text/amounts_and_times.h"
#include "client/cli/text/terminal_text.h"
#include "client/cli/views/run_text.h"
#include "client/cli/waiting/queue_place.h"

namespace kprof::cli {

namespace {

// ", 512.0 MiB of 1.2 GiB, 410.3 MiB/s, 2000000 events".
std::string ImportText(const v1::WatchRunResponse& latest, int64_t now_ns) {
  const v1::ImportProgress& progress = latest.import_progress();
  std::string text = ", " + FormatBytes(progress.bytes()) + " of " + FormatBytes(progress.total_bytes());
  const double seconds = static_cast<double>(DurationNs(latest.run(), now_ns)) / 1e9;
  if (seconds >= 0.2) {
    text += ", " + FormatBytes(static_cast<int64_t>(static_cast<double>(progress.bytes()) / seconds)) + "/s";
  }
  return text + ", " + std::to_string(progress.events()) + " events";
}

}  // namespace

std::string ProgressText(const ProgressFacts& facts, int64_t now_ns) {
  const v1::Run& run = facts.latest.run();
  // The daemon's clock now: what it was then, plus what has passed here.
  int64_t daemon_now_ns = facts.latest.now_unix_ns() + (now_ns - facts.received_ns);
  std::string text = run.id() + "  " + RunStateName(run.state());
  text += " " + FormatAge(DurationNs(run, daemon_now_ns));
  if (run.state() == v1::RUN_STATE_QUEUED) {
    const std::string place = QueuePlaceText(PlaceOf(facts.latest), now_ns - facts.received_ns);
    if (!place.empty()) text += ", " + place;
  } else if (!run.devices().empty()) {
    text += " on " + DevicesOf(run);
  }
  if (facts.latest.has_import_progress()) text += ImportText(facts.latest, daemon_now_ns);
  if (facts.cancelling) text += ", cancelling (Ctrl-C again leaves at once)";
  if (facts.disconnected) text += ", no connection to kprofd, trying again";
  return TerminalText(text);
}

void ProgressLine::Show(const std::string& text) {
  if (!enabled_) return;
  size_t width = output_.NoteWidth();
  std::string line = Shortened(text, width > 1 ? width - 1 : 79);
  if (line == shown_) return;
  output_.WriteToTerminal("\r" + line + "\x1b[K");
  shown_ = line;
}

void ProgressLine::Clear() {
  if (shown_.empty()) return;
  output_.WriteToTerminal("\r\x1b[K");
  shown_.clear();
}

bool ProgressAllowed(const Output& output) {
  const char* term = std::getenv("TERM");
  return output.note_is_terminal() && term != nullptr && std::string_view(term) != "dumb";
}

}  // namespace kprof::cli

#include "daemon/clocks/pause/pause_hold.h"

#include "daemon/clocks/keeper/held_text.h"

namespace kprof {
namespace {

NoteKind PauseKind() {
  return {"kprof pause held 1", "read whether DCGM is paused",
          "dcgmi profile --resume resumes it; then remove the file"};
}

// Whether the key is known and its value makes sense.
bool TakeLine(std::string_view key, std::string_view value, PauseHold& hold) {
  if (key == "boot") return !(hold.boot_id = value).empty();
  if (key == "holder") {
    hold.holder = value;
    return true;
  }
  if (key == "since_unix_ns") return ParseNoteNumber(value, hold.since_unix_ns);
  if (key == "by_others") return ParseNoteFlag(value, hold.by_others);
  if (key == "set") return ParseNoteFlag(value, hold.set);
  return false;
}

}  // namespace

std::string PauseHoldText(const PauseHold& hold) {
  NoteText text(PauseKind().first_line);
  text.Add("boot", hold.boot_id);
  text.Add("holder", hold.holder);
  text.Add("since_unix_ns", std::to_string(hold.since_unix_ns));
  text.Add("by_others", std::to_string(static_cast<int>(hold.by_others)));
  text.Add("set", std::to_string(static_cast<int>(hold.set)));
  return text.Finish();
}

Result<PauseHold> ParsePauseHold(std::string_view text) {
  PauseHold hold;
  RETURN_IF_ERROR(ReadNoteText(
      text, PauseKind(), [&hold](std::string_view key, std::string_view value) { return TakeLine(key, value, hold); }));
  if (hold.boot_id.empty()) return DamagedNote(PauseKind(), "it does not say of which boot it is");
  return hold;
}

}  // namespace kprof

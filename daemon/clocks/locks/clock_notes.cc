#include "daemon/clocks/locks/clock_notes.h"

#include <utility>

#include "daemon/clocks/keeper/note_store.h"

namespace kprof {
namespace {

NoteKind ClocksKind() {
  return {"kprof clocks held 1", "read which clocks are held",
          "nvidia-smi -rgc and -rmc unlock the clocks; then remove the file"};
}

// Whether the key is known and its value makes sense.
bool TakeLine(std::string_view key, std::string_view value, ClockHold& hold) {
  if (key == "boot") return !(hold.boot_id = value).empty();
  if (key == "device") return !(hold.uuid = value).empty();
  if (key == "holder") {
    hold.holder = value;
    return true;
  }
  if (key == "since_unix_ns") return ParseNoteNumber(value, hold.since_unix_ns);
  if (key == "prior_persistence") return ParseNoteFlag(value, hold.prior.persistence.emplace());
  if (key == "prior_power_limit_mw") return ParseNoteNumber(value, hold.prior.power_limit_mw);
  if (key == "prior_application_memory_mhz") return ParseNoteNumber(value, hold.prior.application_memory_mhz);
  if (key == "prior_application_sm_mhz") return ParseNoteNumber(value, hold.prior.application_sm_mhz);
  if (key == "wanted_sm_mhz") return ParseNoteNumber(value, hold.wanted.sm_mhz);
  if (key == "wanted_memory_mhz") return ParseNoteNumber(value, hold.wanted.memory_mhz);
  if (key == "wanted_persistence") return ParseNoteFlag(value, hold.wanted.persistence);
  if (key == "wanted_power_limit_mw") return ParseNoteNumber(value, hold.wanted.power_limit_mw);
  if (key == "set_sm") return ParseNoteFlag(value, hold.set.sm);
  if (key == "set_memory") return ParseNoteFlag(value, hold.set.memory);
  if (key == "set_persistence") return ParseNoteFlag(value, hold.set.persistence);
  if (key == "set_power_limit") return ParseNoteFlag(value, hold.set.power);
  return false;
}

}  // namespace

std::string ClockHoldText(const ClockHold& hold) {
  NoteText text(ClocksKind().first_line);
  text.Add("boot", hold.boot_id);
  text.Add("device", hold.uuid);
  text.Add("holder", hold.holder);
  text.Add("since_unix_ns", std::to_string(hold.since_unix_ns));
  text.Add("prior_persistence", hold.prior.persistence);
  text.Add("prior_power_limit_mw", hold.prior.power_limit_mw);
  text.Add("prior_application_memory_mhz", hold.prior.application_memory_mhz);
  text.Add("prior_application_sm_mhz", hold.prior.application_sm_mhz);
  text.Add("wanted_sm_mhz", hold.wanted.sm_mhz);
  text.Add("wanted_memory_mhz", hold.wanted.memory_mhz);
  text.Add("wanted_persistence", std::to_string(static_cast<int>(hold.wanted.persistence)));
  text.Add("wanted_power_limit_mw", hold.wanted.power_limit_mw);
  for (const auto& [key, is_set] : {std::pair{"set_sm", hold.set.sm},
                                    {"set_memory", hold.set.memory},
                                    {"set_persistence", hold.set.persistence},
                                    {"set_power_limit", hold.set.power}}) {
    text.Add(key, std::to_string(static_cast<int>(is_set)));
  }
  return text.Finish();
}

Result<ClockHold> ParseClockHold(std::string_view text) {
  ClockHold hold;
  RETURN_IF_ERROR(ReadNoteText(text, ClocksKind(), [&hold](std::string_view key, std::string_view value) {
    return TakeLine(key, value, hold);
  }));
  if (hold.boot_id.empty() || hold.uuid.empty()) {
    return DamagedNote(ClocksKind(), "it does not say whose it is");
  }
  return hold;
}

namespace {

std::string Noting(const ClockHold& hold) {
  return "note that the clocks of " + hold.uuid + " are held";
}

}  // namespace

Status ClockNotes::Write(const ClockHold& hold) {
  const Status written = files_.Write(hold.uuid, ClockHoldText(hold));
  return written.ok() ? written : written.In(Noting(hold));
}

Status ClockNotes::Rewrite(const ClockHold& hold) {
  const Status written = files_.Rewrite(hold.uuid, ClockHoldText(hold));
  return written.ok() ? written : written.In(Noting(hold));
}

Result<std::optional<ClockHold>> ClockNotes::Read(const std::string& uuid) {
  ASSIGN_OR_RETURN(const std::optional<std::string> text, files_.Read(uuid));
  if (!text) return std::optional<ClockHold>();
  const std::string act = "read " + files_.PathOf(uuid);
  Result<ClockHold> hold = ParseClockHold(*text);
  if (!hold.ok()) return hold.status().In(act);
  if (hold->uuid != uuid) {
    return Fail(ErrorCode::kStorageBroken, act, "it is about another device, " + hold->uuid, "remove it");
  }
  return std::optional<ClockHold>(*std::move(hold));
}

}  // namespace kprof

#include "daemon/clocks/locks/clock_notes.h"

#include <utility>

namespace kprof {
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

#include "daemon/clocks/keeper/pause_keeper.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <variant>

#include "daemon/clocks/keeper/note_store.h"

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

namespace {

// For one before us that is giving back what it holds.
constexpr int64_t kPauseRightWaitMs = 3000;
constexpr int64_t kLongestPauseNs = 24 * 3600 * kNanosPerSecond;

// Nothing was done: what was asked for is not to be had here.
bool IsPauseRefusal(const Status& paused) {
  return paused.code() == ErrorCode::kNotPermitted || paused.code() == ErrorCode::kToolMissing ||
         paused.code() == ErrorCode::kNotFound;
}

}  // namespace

KeptPause::KeptPause(Options options, Files& files, CallPage page)
    : options_(std::move(options)), files_(files, options_.folder), page_(std::move(page)) {}

Status KeptPause::TakeRight() {
  if (right_) return OkStatus();
  page_.Begin("the lock of DCGM's pause");
  Result<std::unique_ptr<File>> right = files_.Lock(kPauseHoldName, "DCGM", kPauseRightWaitMs);
  page_.End();
  if (!right.ok()) return right.status();
  right_ = *std::move(right);
  return OkStatus();
}

Status KeptPause::Open() {
  if (door_) return OkStatus();
  ASSIGN_OR_RETURN(door_, OpenDcgm(options_.library, options_.tool_path, page_));
  return OkStatus();
}

void KeptPause::CloseAfter(const Status& /*failed*/) {
  door_.reset();
}

Result<std::optional<PauseHold>> KeptPause::ReadHold() {
  ASSIGN_OR_RETURN(const std::optional<std::string> text, files_.Read(kPauseHoldName));
  if (!text) return std::optional<PauseHold>();
  Result<PauseHold> hold = ParsePauseHold(*text);
  if (!hold.ok()) return hold.status().In("read " + files_.PathOf(kPauseHoldName));
  return std::optional<PauseHold>(*std::move(hold));
}

// What a host engine was told is gone with it; one that has nothing to resume never had.
Status KeptPause::Resume() {
  if (Status opened = Open(); !opened.ok()) {
    return Status(ErrorCode::kToolFailed, "resume DCGM's profiling", opened.why(), opened.remedy());
  }
  const Status resumed = door_->Resume();
  const bool is_gone = resumed.code() == ErrorCode::kNotFound || resumed.code() == ErrorCode::kToolMissing;
  return is_gone ? OkStatus() : resumed;
}

// Without a note DCGM is not even looked for. How it was before a damaged one is not known any more; that it profiles
// is what whoever watches it counts on.
Status KeptPause::GiveBack() {
  RETURN_IF_ERROR(TakeRight());
  Result<std::optional<PauseHold>> hold = ReadHold();
  if (!hold.ok() && hold.status().code() != ErrorCode::kStorageBroken) return hold.status();
  if (!hold.ok()) {
    RETURN_IF_ERROR(Resume());
    std::fprintf(stderr, "kprof-pause: %s; DCGM's profiling is resumed\n", hold.status().ToString().c_str());
    return files_.SetAside(kPauseHoldName);
  }
  if (*hold) {
    const bool is_ours = (*hold)->boot_id == options_.boot_id && !(*hold)->by_others;
    if (is_ours) RETURN_IF_ERROR(Resume());
    RETURN_IF_ERROR(files_.Remove(kPauseHoldName));
  }
  until_mono_ns_.reset();
  return OkStatus();
}

KeeperMessage KeptPause::Hold(const KeeperMessage& request) {
  const auto* pause = std::get_if<KeeperPause>(&request);
  if (pause == nullptr) return KeeperFailedOf(Fail(ErrorCode::kInternal, "pause", "something else is asked for"));
  Result<KeeperPaused> paused = Pause(*pause);
  if (!paused.ok()) return KeeperFailedOf(paused.status());
  return *std::move(paused);
}

// Also where it is paused already: somebody may have resumed it meanwhile.
Result<KeeperPaused> KeptPause::Pause(const KeeperPause& request) {
  RETURN_IF_ERROR(Open());
  ASSIGN_OR_RETURN(const std::optional<PauseHold> before, ReadHold());
  PauseHold hold = before.value_or(PauseHold());
  if (!before) {
    hold.by_others = door_->ReadPaused() == true;
    hold.since_unix_ns = clock_.unix_ns();
  }
  hold.boot_id = options_.boot_id;
  hold.holder = request.holder;
  RETURN_IF_ERROR(files_.Write(kPauseHoldName, PauseHoldText(hold)));
  const Status paused = door_->Pause();
  if (!paused.ok()) {
    const bool nothing_was_done = !before && IsPauseRefusal(paused);
    const Status undone = nothing_was_done ? files_.Remove(kPauseHoldName) : GiveBack();
    if (undone.ok()) return paused;
    return Status(paused.code(), paused.what(), paused.why() + "; and then: " + undone.ToString(), paused.remedy());
  }
  if (!std::exchange(hold.set, true)) RETURN_IF_ERROR(files_.Rewrite(kPauseHoldName, PauseHoldText(hold)));
  until_mono_ns_ = clock_.mono_ns() + std::clamp<int64_t>(request.limit_ns, 0, kLongestPauseNs);
  return KeeperPaused{"DCGM", hold.by_others};
}

}  // namespace kprof

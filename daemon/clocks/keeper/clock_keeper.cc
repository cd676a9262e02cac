#include "daemon/clocks/keeper/clock_keeper.h"

#include <cstdio>
#include <optional>
#include <utility>
#include <variant>

namespace kprof {
namespace {

// For so long after a release the device may still show what was held.
constexpr int64_t kAftermathNs = 2 * kNanosPerSecond;

PriorClocks PriorOf(const NvidiaSettings& settings) {
  return {settings.persistence, settings.power_limit_mw, settings.application_memory_mhz, settings.application_sm_mhz};
}

Status CannotUndo(const std::string& what) {
  return Fail(ErrorCode::kToolMissing, "lock the " + what, "this driver could not unlock it again", "use a newer one");
}

// It is about what was asked for: nothing was done.
bool IsRefusal(const Status& set) {
  return set.code() == ErrorCode::kNotPermitted || set.code() == ErrorCode::kToolMissing ||
         set.code() == ErrorCode::kUsage;
}

bool GivesBack(const WantedClocks& was, const WantedClocks& is) {
  return (was.memory_mhz && !is.memory_mhz) || (was.power_limit_mw && !is.power_limit_mw) || (was.sm_mhz && !is.sm_mhz);
}

}  // namespace

Result<KeeperLocked> ClockSetter::Lock(const KeeperLock& request) {
  KeeperLocked locked;
  locked.held = request.wanted;
  RETURN_IF_ERROR(Note(request, locked));
  const Status changed = Change(request, locked);
  if (changed.ok()) return locked;
  Result<KeeperReleased> released = Release();
  if (released.ok()) return changed;
  return Status(changed.code(), changed.what(), changed.why() + "; and then: " + released.status().ToString(),
                changed.remedy());
}

// Where something is held already the note keeps how it was before that. What is not wanted any more is given back
// first: the note says what may be set.
Status ClockSetter::Note(const KeeperLock& request, KeeperLocked& locked) {
  ASSIGN_OR_RETURN(std::optional<ClockHold> before, files_.Read(device_.uuid()));
  if (before && GivesBack(before->wanted, request.wanted)) {
    RETURN_IF_ERROR(Release().status());
    before.reset();
  }
  hold_ = before.value_or(ClockHold());
  if (!before) {
    ASSIGN_OR_RETURN(const NvidiaSettings settings, device_.ReadSettings());
    hold_.prior = PriorOf(settings);
    const bool in_aftermath = released_mono_ns_ != 0 && clock_.mono_ns() - released_mono_ns_ < kAftermathNs;
    if (!in_aftermath) {
      ASSIGN_OR_RETURN(const std::optional<std::string> others, device_.FindOthersSettings(settings));
      if (others) locked.notes.push_back(*others);
    }
  }
  hold_.boot_id = boot_id_;
  hold_.uuid = device_.uuid();
  hold_.holder = request.holder;
  hold_.since_unix_ns = clock_.unix_ns();
  hold_.wanted = request.wanted;
  hold_.wanted.persistence |= before && before->wanted.persistence;
  locked.prior = hold_.prior;
  return files_.Write(hold_);
}

Status ClockSetter::Take(const Status& set, bool& is_set, const std::function<void()>& forget, bool must_be,
                         KeeperLocked& locked) {
  if (set.ok()) {
    if (std::exchange(is_set, true)) return OkStatus();
    return files_.Rewrite(hold_);
  }
  if (!IsRefusal(set)) return set;  // who knows what it did
  if (!is_set) {
    forget();
    RETURN_IF_ERROR(files_.Rewrite(hold_));
  }
  if (must_be) return set;
  locked.notes.push_back(set.ToString());
  return OkStatus();
}

Status ClockSetter::Change(const KeeperLock& request, KeeperLocked& locked) {
  const WantedClocks wanted = hold_.wanted;
  if (wanted.persistence && hold_.prior.persistence == false) {
    const auto forget = [&] { hold_.wanted.persistence = locked.held.persistence = false; };
    RETURN_IF_ERROR(Take(device_.SetPersistence(true), hold_.set.persistence, forget, /*must_be=*/false, locked));
  }
  if (wanted.power_limit_mw) {
    const auto forget = [&] {
      hold_.wanted.power_limit_mw.reset();
      locked.held.power_limit_mw.reset();
    };
    const Status set = hold_.prior.power_limit_mw
                           ? device_.SetPowerLimit(*wanted.power_limit_mw)
                           : Fail(ErrorCode::kToolMissing, "limit the power", "the device does not tell its limit now");
    RETURN_IF_ERROR(Take(set, hold_.set.power, forget, request.required, locked));
  }
  if (wanted.sm_mhz) {
    const uint32_t mhz = *wanted.sm_mhz == 0 ? nvml::kClockLimitTdp : *wanted.sm_mhz;
    const auto forget = [&] { hold_.wanted.sm_mhz.reset(); };
    const Status set = device_.CanUnlock() ? device_.LockSmClocks(mhz, mhz) : CannotUndo("SM clock");
    RETURN_IF_ERROR(Take(set, hold_.set.sm, forget, /*must_be=*/true, locked));
  }
  if (wanted.memory_mhz) {
    const auto forget = [&] {
      hold_.wanted.memory_mhz.reset();
      locked.held.memory_mhz.reset();
    };
    const Status set = device_.CanUnlockMemory() ? device_.LockMemoryClocks(*wanted.memory_mhz, *wanted.memory_mhz)
                                                 : CannotUndo("memory clock");
    RETURN_IF_ERROR(Take(set, hold_.set.memory, forget, request.required, locked));
  }
  return OkStatus();
}

Result<KeeperReleased> ClockSetter::Release() {
  Result<std::optional<ClockHold>> read = files_.Read(device_.uuid());
  if (!read.ok()) return ReleaseDamaged(read.status());
  if (!*read) return KeeperReleased();
  hold_ = **read;
  std::vector<Status> failures;
  if (hold_.wanted.memory_mhz || hold_.set.memory) {
    Undo(device_.ResetMemoryClocks(), hold_.set.memory, failures);
  }
  if (hold_.wanted.sm_mhz || hold_.set.sm) Undo(device_.ResetSmClocks(), hold_.set.sm, failures);
  released_mono_ns_ = clock_.mono_ns();
  RestoreSettings(failures);
  if (!failures.empty()) return failures.front();
  RETURN_IF_ERROR(files_.Remove(device_.uuid()));
  return KeeperReleased();
}

// Of what may have been set or not: who may not undo it, or has a device that cannot, could not have done it.
void ClockSetter::Undo(const Status& undone, bool is_known_to_be_set, std::vector<Status>& failures) const {
  if (undone.ok() || (!is_known_to_be_set && IsRefusal(undone))) return;
  failures.push_back(undone);
}

void ClockSetter::RestoreSettings(std::vector<Status>& failures) {
  Result<NvidiaSettings> now = device_.ReadSettings();
  if (!now.ok()) return failures.push_back(now.status());
  const PriorClocks& prior = hold_.prior;
  Undo(RestoreApplicationClocks(*now), false, failures);
  const bool has_power = hold_.wanted.power_limit_mw || hold_.set.power;
  if (has_power && prior.power_limit_mw && now->power_limit_mw != prior.power_limit_mw) {
    Undo(device_.SetPowerLimit(*prior.power_limit_mw), hold_.set.power, failures);
  }
  // Last: without it the driver may let go of a device that nobody else has open.
  const bool has_persistence = hold_.wanted.persistence || hold_.set.persistence;
  if (has_persistence && prior.persistence == false && now->persistence != false) {
    Undo(device_.SetPersistence(false), hold_.set.persistence, failures);
  }
}

// They are not ours; a lock that is reset may have taken them along.
Status ClockSetter::RestoreApplicationClocks(const NvidiaSettings& now) {
  const PriorClocks& prior = hold_.prior;
  const bool is_told =
      prior.application_memory_mhz && prior.application_sm_mhz && now.application_memory_mhz && now.application_sm_mhz;
  const bool is_same =
      prior.application_memory_mhz == now.application_memory_mhz && prior.application_sm_mhz == now.application_sm_mhz;
  if (!is_told || is_same) return OkStatus();
  return device_.SetApplicationClocks(*prior.application_memory_mhz, *prior.application_sm_mhz);
}

// How it was before is not known any more; that locks are reset is right in any case.
Result<KeeperReleased> ClockSetter::ReleaseDamaged(const Status& why) {
  if (why.code() != ErrorCode::kStorageBroken) return why;
  std::vector<Status> failures;
  Undo(device_.ResetMemoryClocks(), false, failures);
  Undo(device_.ResetSmClocks(), false, failures);
  if (!failures.empty()) return failures.front();
  RETURN_IF_ERROR(files_.SetAside(device_.uuid()));
  return KeeperReleased{{why.ToString() + "; its locks are reset, and what else was set stays as it is"}};
}

namespace {

// For one before us that is giving back what it holds.
constexpr int64_t kRightWaitMs = 3000;
// Of one call; who asks gives up before.
constexpr unsigned kCallSeconds = 8;
// Of one whose kprofd may have been killed meanwhile.
constexpr unsigned kWatchedCallSeconds = 30;

}  // namespace

KeptClocks::KeptClocks(Options options, Files& files, CallPage page)
    : options_(std::move(options)), files_(files, options_.folder), page_(std::move(page)) {
  page_.EndProcessAfter(options_.is_unwatched ? kCallSeconds : kWatchedCallSeconds);
}

Status KeptClocks::TakeRight() {
  if (right_) return OkStatus();
  page_.Begin("the lock of the device's clocks");
  Result<std::unique_ptr<File>> right = files_.Lock(options_.uuid, kRightWaitMs);
  page_.End();
  if (!right.ok()) return right.status();
  right_ = *std::move(right);
  return OkStatus();
}

Status KeptClocks::Open() {
  if (keeper_) return OkStatus();
  if (!library_) {
    page_.Begin("nvmlInit_v2");
    Result<NvmlLibrary> library = NvmlLibrary::Open(options_.library);
    page_.End();
    if (!library.ok()) return library.status();
    library_.emplace(*std::move(library));
  }
  ASSIGN_OR_RETURN(NvmlDevice device, NvmlDevice::OfUuid(*library_, page_, options_.uuid));
  device_.emplace(std::move(device));
  keeper_.emplace(clock_, files_, *device_, options_.boot_id);
  return OkStatus();
}

// The device is lost, or has another driver by now: what was opened is of no use.
void KeptClocks::CloseAfter(const Status& failed) {
  if (failed.code() != ErrorCode::kNotFound) return;
  keeper_.reset();
  device_.reset();
  page_.Begin("nvmlShutdown");
  library_.reset();
  page_.End();
}

// Without a note the device is not even opened, and of one that may not be there nothing is made.
Status KeptClocks::GiveBack() {
  Result<std::optional<ClockHold>> hold = files_.Read(options_.uuid);
  if (hold.ok() && !*hold) return OkStatus();
  RETURN_IF_ERROR(TakeRight());
  hold = files_.Read(options_.uuid);
  if (hold.ok() && !*hold) return OkStatus();
  if (hold.ok() && (*hold)->boot_id != options_.boot_id) return files_.Remove(options_.uuid);
  RETURN_IF_ERROR(Open());
  Result<KeeperReleased> released = keeper_->Release();
  if (!released.ok()) return released.status();
  for (const std::string& note : released->notes) std::fprintf(stderr, "kprof-clocks: %s\n", note.c_str());
  return OkStatus();
}

KeeperMessage KeptClocks::Hold(const KeeperMessage& request) {
  const auto* lock = std::get_if<KeeperLock>(&request);
  if (lock == nullptr) return KeeperFailedOf(Fail(ErrorCode::kInternal, "hold clocks", "something else is asked for"));
  if (Status opened = Open(); !opened.ok()) return KeeperFailedOf(opened);
  if (Status right = TakeRight(); !right.ok()) return KeeperFailedOf(right);
  Result<KeeperLocked> locked = keeper_->Lock(*lock);
  if (!locked.ok()) return KeeperFailedOf(locked.status());
  return *std::move(locked);
}

}  // namespace kprof

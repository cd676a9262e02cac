#include "daemon/clocks/locks/kept_clocks.h"

#include <cstdio>
#include <utility>
#include <variant>

namespace kprof {
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

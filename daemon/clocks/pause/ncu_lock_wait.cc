#include "daemon/clocks/pause/ncu_lock_wait.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "daemon/base/user_names.h"
#include "daemon/capture/ncu_lock.h"

namespace kprof {
namespace {

// For a look beside the limit itself.
constexpr int64_t kLookLimitNs = 2 * kNanosPerSecond;

std::string HasIt(const std::optional<KnownProcess>& holder, UserNames& users) {
  return holder ? KnownAs(*holder, users) : "somebody";
}

}  // namespace

// The first that is held.
struct NcuLockWait::Seen {
  std::string lock;  // empty: none is
  std::optional<KnownProcess> holder;
  Status trouble;
};

NcuLockWait::NcuLockWait(IoLoop& loop, UserNames& users, Wish wish, Done done)
    : loop_(loop),
      users_(users),
      wish_(std::move(wish)),
      done_(std::move(done)),
      since_mono_ns_(loop.clock().mono_ns()),
      looks_(loop) {
  KPROF_ON_IO_LOOP(loop_);
  again_ = loop_.After(0, [this] { Look(); });
  limit_ = loop_.After(wish_.limit_ns + kLookLimitNs, [this] {
    Finish(Fail(ErrorCode::kQueueTimeout, "wait for ncu's lock", "the file system of its folder does not answer",
                "use another TMPDIR"));
  });
}

void NcuLockWait::Look() {
  const Status begun = looks_.Run([this, locks = wish_.locks]() -> std::function<void()> {
    Seen seen;
    for (const std::string& lock : locks) {
      const Result<NcuLockState> state = LookAtNcuLock(lock);
      if (!state.ok()) seen.trouble = state.status();
      if (!state.ok() || !state->is_held) continue;
      seen.lock = lock;
      if (state->holder) seen.holder = ReadKnownProcess(*state->holder);
      break;
    }
    return [this, seen] { OnSeen(seen); };
  });
  if (!begun.ok()) Finish(begun);
}

void NcuLockWait::OnSeen(const Seen& seen) {
  if (!done_) return;
  if (!seen.trouble.ok()) return Finish(seen.trouble);
  who_ = seen.lock.empty() ? "" : HasIt(seen.holder, users_) + " has " + seen.lock;
  if (who_.empty()) return Finish(OkStatus());
  const int64_t left_ns = since_mono_ns_ + wish_.limit_ns - loop_.clock().mono_ns();
  if (left_ns > 0) {
    again_ = loop_.After(std::min(left_ns, wish_.period_ns), [this] { Look(); });
    return;
  }
  Finish(Fail(ErrorCode::kQueueTimeout, "wait for ncu's lock", who_, "wait until that ncu has ended, or end it"));
}

void NcuLockWait::Finish(Status status) {
  again_.Cancel();
  limit_.Cancel();
  if (const Done done = std::exchange(done_, nullptr)) done(std::move(status));
}

}  // namespace kprof

// Waits until nobody has any of some locks of ncu's (ncu_lock.h), which are looked at again and again on a thread of
// their own. Takes none of them. Another ncu may come before ours starts; then ours waits for it by itself.
//
// Io loop only. Never blocks; a file system that hangs costs the limit, and one thread. Everything that it is given
// must outlive it. Its destructor ends the wait, and nobody is called.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "daemon/base/io_loop.h"
#include "daemon/base/user_names.h"
#include "daemon/base/worker_pool.h"
#include "storage/base/status.h"

namespace kprof {

class NcuLockWait {
 public:
  struct Wish {
    std::vector<std::string> locks;  // of NcuPlaceFor
    int64_t limit_ns = 0;            // 0: they are looked at once
    int64_t period_ns = kNanosPerSecond / 4;
  };
  // Ok: they are free. kQueueTimeout: who has which after all that time, or that a file system does not answer. Called
  // once, from the loop, never from inside.
  using Done = std::function<void(Status)>;

  NcuLockWait(IoLoop& loop, UserNames& users, Wish wish, Done done);
  NcuLockWait(const NcuLockWait&) = delete;
  NcuLockWait& operator=(const NcuLockWait&) = delete;

  // The holders at the last look, for people: "pid 4711 (ncu, user eve) has /tmp/nsight-compute-lock".
  const std::string& who() const { return who_; }

 private:
  struct Seen;

  void Look();
  void OnSeen(const Seen& seen);
  void Finish(Status status);

  IoLoop& loop_;
  UserNames& users_;
  const Wish wish_;
  Done done_;
  const int64_t since_mono_ns_;
  std::string who_;
  IoLoop::Timer again_;
  IoLoop::Timer limit_;
  DetachedWork looks_;  // goes first
};

}  // namespace kprof

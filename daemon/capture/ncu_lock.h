// The file that NVIDIA's ncu takes a lock on, so that one profiles at a time: TMPDIR/nsight-compute-lock. It is made by
// whoever comes first, for everybody to write, and never deleted. In a folder that all may write, such as /tmp, the
// kernel (fs.protected_regular) lets nobody open it who neither owns it nor finds it owned by the folder's owner: other
// users' ncu ends with exit code 9 there. Users help themselves with a TMPDIR of their own, and then nobody waits for
// anybody.
//
// A run whose tool needs it waits until none of the locks is held that its ncu and those of others would take
// (ncu_lock_wait.h). What lets all users' ncus have one TMPDIR, whose owner made the lock (PrepareNcuFolder),
// is here as well: a tool's plan chooses it.
//
// Knows nothing of ncu's command line. Stateless; any thread. Blocks for the file system, which may be a hung server's.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "storage/base/status.h"

namespace kprof {

constexpr const char* kNcuLockName = "nsight-compute-lock";

// What ncu takes in this environment ("NAME=value").
std::string NcuLockPath(const std::vector<std::string>& environment);

// What an ncu of ours gets, and whose locks it waits for.
struct NcuPlace {
  std::string tmpdir;
  std::vector<std::string> locks;  // its own, that of the caller's environment, that of /tmp
  bool operator==(const NcuPlace&) const = default;
};
// `own_folder`: what PrepareNcuFolder has made.
NcuPlace NcuPlaceFor(const std::vector<std::string>& environment, const std::string& own_folder);

// Makes the folder, where there is none, in which all users' ncus can lock each other out, and the lock in it.
// REQUIRES: its parent can be entered by all of them, and is written by its owner alone. Fails with kUsage where
// something else is in its place.
Status PrepareNcuFolder(const std::string& folder);

// Whether somebody has the lock at this moment; nothing is taken, and nobody notices. One who has died has none.
struct NcuLockState {
  bool is_held = false;
  std::optional<pid_t> holder;  // absent: not told, one of another container say
  bool operator==(const NcuLockState&) const = default;
};
// A file that is not there, or out of our reach, is held by nobody. Fails where it cannot be told. `lock_table`: the
// kernel's list of all locks.
Result<NcuLockState> LookAtNcuLock(const std::string& path, const std::string& lock_table = "/proc/locks");

// The entry for a file in the text of /proc/locks. Absent: there is none.
struct LockedFile {
  dev_t device = 0;
  ino_t inode = 0;
};
std::optional<NcuLockState> FindInLockTable(const std::string& table, const LockedFile& file);

// Whether the kernel lets a user open the lock as ncu does: ok, or why its ncu will end with exit code 9.
Status CheckNcuLock(const std::string& path, uid_t uid);

}  // namespace kprof

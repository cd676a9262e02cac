// The file that NVIDIA's ncu locks so that one ncu profiles at a time: TMPDIR/nsight-compute-lock. The first ncu makes
// it, writable for everybody; nobody ever deletes it. In a folder that all may write, such as /tmp, the kernel
// (fs.protected_regular) lets a user open the file only if this user or the folder's owner owns it. The ncu of other
// users ends with exit code 9 there. Users help themselves with a TMPDIR of their own, and then nobody waits for
// anybody.
//
// A run whose tool needs the lock waits until nobody holds any of the locks that its own ncu and those of others would
// take (ncu_lock_wait.h). PrepareNcuFolder makes a folder that can be the TMPDIR of all users' ncus, with a lock that
// the folder's owner made. A tool's plan chooses it.
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

// The path of the lock that ncu takes in this environment ("NAME=value").
std::string NcuLockPath(const std::vector<std::string>& environment);

// The TMPDIR of an ncu of ours, and the locks that it waits for.
struct NcuPlace {
  std::string tmpdir;
  std::vector<std::string> locks;  // its own, that of the caller's environment, that of /tmp
  bool operator==(const NcuPlace&) const = default;
};
// `own_folder`: made by PrepareNcuFolder.
NcuPlace NcuPlaceFor(const std::vector<std::string>& environment, const std::string& own_folder);

// Makes the folder where all users' ncus lock each other out, and the lock in it; an existing one is fine.
// REQUIRES: all users can enter its parent, and only the parent's owner can write there. Fails with kUsage where
// something else is in its place.
Status PrepareNcuFolder(const std::string& folder);

// The state of a lock at this moment. Looking takes no lock and disturbs nobody. A dead process holds none.
struct NcuLockState {
  bool is_held = false;
  std::optional<pid_t> holder;  // absent: not told, one of another container say
  bool operator==(const NcuLockState&) const = default;
};
// A file that is absent or out of our reach is not held. Fails when the kernel's list of all locks, `lock_table`,
// cannot be read.
Result<NcuLockState> LookAtNcuLock(const std::string& path, const std::string& lock_table = "/proc/locks");

// The entry for a file in the text of /proc/locks. Absent: there is none.
struct LockedFile {
  dev_t device = 0;
  ino_t inode = 0;
};
std::optional<NcuLockState> FindInLockTable(const std::string& table, const LockedFile& file);

// Ok if the kernel lets the user open the lock as ncu does. Else kNotPermitted: the user's ncu will end with exit code
// 9.
Status CheckNcuLock(const std::string& path, uid_t uid);

}  // namespace kprof

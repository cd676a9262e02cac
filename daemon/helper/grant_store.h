// The helper's grants, on disk and in memory. A grant says that a caller, while connected, asked for one run. Without
// one, nothing is started as that caller. One file per run, in a folder that only root can enter. A change is durable
// when its call returns.
//
// Grants are bounded per uid and in all. One that nobody used expires after a week (a queue's longest sensible wait),
// one that kprofd never forgot after two months. One that was used under another boot has no processes left to end, and
// goes at the start.
//
// One thread. Blocks on the disk.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/clock.h"
#include "storage/base/files.h"
#include "storage/base/status.h"

namespace kprof {

// A caller's ids, as a connection tells them.
struct CallerIdentity {
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<uint32_t> groups;  // supplementary
  bool operator==(const CallerIdentity&) const = default;
};

// A file is "kprofgrant2\n", 64 hex digits of the payload's SHA-256, "\n", the payload: run id, uid, gid, digest, when,
// boot id, used, remote, groups (storage/base/message_coder.h). docs/helper_protocol.md has it for people. The first
// version, "kprofgrant1\n", has no `remote`: such a grant is read as a local one.
struct Grant {
  std::string run_id;
  CallerIdentity caller;
  std::string digest;  // launch_request.h
  int64_t given_unix_ns = 0;
  std::string boot_id;  // of the kernel that it was used under
  bool used = false;    // something was started, or was about to be
  bool remote = false;  // nobody saw its caller: kprofd's word was taken, for a user whom root lists
  bool operator==(const Grant&) const = default;
};

// In the newest version.
std::string EncodeGrant(const Grant& grant);
// kBadInput for a damaged one, and for values that no grant has.
Result<Grant> DecodeGrant(std::string_view bytes);

// A payload of the newest version with magic and sum before it.
std::string WithGrantFrame(std::string_view payload);

struct GrantLimits {
  size_t per_uid = 2000;
  size_t in_all = 10'000;
  int64_t unused_ns = 7LL * 24 * 3600 * kNanosPerSecond;
  int64_t used_ns = 60LL * 24 * 3600 * kNanosPerSecond;
};

class GrantStore {
 public:
  // The folder is made when it is not there (0700). Fails with kNotPermitted for a folder that somebody else owns or
  // may enter. Damaged files are left alone and told in the log; they grant nothing.
  static Result<GrantStore> Open(Files& files, const Clock& clock, const std::string& folder, std::string boot_id,
                                 const GrantLimits& limits = {});

  // `granted`: run, caller, digest, and whether it is a remote client's; the rest is set here. Fails with kUsage when
  // the run has a grant, kQueueFull over a limit, kStorageFull.
  Status Add(Grant granted);

  // Null when there is none.
  const Grant* Find(const std::string& run_id) const;

  // Marks it as used. Fails with kNotPermitted when there is none, kUsage when it was used before.
  Result<Grant> Use(const std::string& run_id);

  // Ok also for a run without a grant.
  Status Remove(const std::string& run_id);

  // Cheap; call it now and then.
  void RemoveExpired();

  // By run id.
  const std::map<std::string, Grant>& all() const { return grants_; }
  size_t size() const { return grants_.size(); }
  size_t used() const;

 private:
  GrantStore(Files& files, const Clock& clock, std::string folder, std::string boot_id, const GrantLimits& limits)
      : files_(&files), clock_(&clock), folder_(std::move(folder)), boot_id_(std::move(boot_id)), limits_(limits) {}

  Status Load();
  Status Write(const Grant& grant);
  std::string PathOf(const std::string& run_id) const { return folder_ + "/" + run_id; }

  Files* files_;
  const Clock* clock_;
  std::string folder_;
  std::string boot_id_;
  GrantLimits limits_;
  std::map<std::string, Grant> grants_;  // by run id
};

}  // namespace kprof

// Names of users and processes, for messages. A user's name that is not known yet is asked for on a thread that nobody
// waits for, and is known the next time. For places where a name is worth having but not worth waiting for.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "daemon/base/account.h"
#include "daemon/base/io_loop.h"
#include "daemon/base/worker_pool.h"
#include "storage/base/status.h"

namespace kprof {

// Io loop only. Never blocks. `loop` must outlive it.
class UserNames {
 public:
  using Find = std::function<Result<Account>(uint32_t uid)>;
  explicit UserNames(
      IoLoop& loop, Find find = [](uint32_t uid) { return FindAccount(uid); })
      : find_(std::move(find)), lookups_(loop) {}

  // Absent while it is not known, or for good where no account has this uid.
  std::optional<std::string> NameOf(uint32_t uid);
  // "user eve"; "uid 1001" where NameOf is absent.
  std::string TextFor(uint32_t uid);

 private:
  void AskNext();

  const Find find_;
  std::map<uint32_t, std::optional<std::string>> known_;  // bounded; nothing: no account has it
  std::set<uint32_t> wanted_;                             // bounded
  bool asks_ = false;                                     // one at a time: a directory that hangs costs one thread
  DetachedWork lookups_;                                  // goes first
};

// A process as people know it: its name and its user, read from /proc. /proc is memory: takes about 10 us.
struct KnownProcess {
  pid_t pid = 0;
  std::string name;             // whatever it likes to call itself, as text; empty: it is gone, or hidden from us
  std::optional<uint32_t> uid;  // the effective one
  bool operator==(const KnownProcess&) const = default;
};

// Any thread.
KnownProcess ReadKnownProcess(pid_t pid, const std::string& proc_root = "/proc");

// "pid 4711 (python3, user eve)", with what is known. Io loop only.
std::string KnownAs(const KnownProcess& process, UserNames& users);

}  // namespace kprof

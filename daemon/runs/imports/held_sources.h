// The open files that clients have handed over for an import and not yet asked for: each under a ticket, a name that
// nobody can guess, for its user alone. Who submits the import claims them; what nobody claims is closed after a
// minute, but not while another source of that user is still on its way.
//
// Bounded: 1,024 of a user and 4,096 in all, those of imports that wait or are under way included; one more is refused
// with kQueueFull.
//
// Io loop only, but for TakePlace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "daemon/base/bounded_places.h"
#include "daemon/base/io_loop.h"
#include "daemon/runs/imports/held_source.h"
#include "storage/base/status.h"
#include "storage/base/unique_fd.h"

namespace kprof {

class HeldSources {
 public:
  static constexpr int kMostOfOne = 1024;
  static constexpr int kMost = 4096;
  static constexpr int64_t kUnclaimedMs = 60'000;

  // `loop` must outlive it; it must outlive the sources.
  explicit HeldSources(IoLoop& loop) : loop_(loop) {}
  HeldSources(const HeldSources&) = delete;
  HeldSources& operator=(const HeldSources&) = delete;

  // `account`: the user whom its owner counts as. Any thread.
  Result<Places::Place> TakePlace(uint32_t account);

  // A file that a local client has opened, with its own rights. kUsage for what is no regular file, is not open for
  // reading alone, or lies where somebody else decides how long a read takes (a file system in user space): that may be
  // sent instead. Its ticket.
  Result<std::string> Hold(uint32_t uid, uint32_t account, UniqueFd fd);
  std::string Keep(uint32_t uid, HeldSource source);

  // It is the claimer's from here on. kNotFound for a ticket that is none, or another user's.
  Result<HeldSource> Claim(uint32_t uid, const std::string& ticket);

  // Between these, nothing of that user's expires.
  void BeginUpload(uint32_t uid) { ++uploads_[uid]; }
  void EndUpload(uint32_t uid);

  size_t waiting() const { return waiting_.size(); }

 private:
  struct Waiting {
    uint32_t uid = 0;
    HeldSource source;
    IoLoop::Timer expiry;
  };
  void StartExpiry(const std::string& ticket);

  IoLoop& loop_;
  Places places_{{.limit = kMost, .limit_per_uid = kMostOfOne}};
  std::map<std::string, Waiting> waiting_;  // by ticket
  std::map<uint32_t, int> uploads_;         // no zeros
};

}  // namespace kprof

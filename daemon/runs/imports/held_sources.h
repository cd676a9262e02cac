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
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "daemon/base/bounded_places.h"
#include "daemon/base/io_loop.h"
#include "daemon/runs/retention/storage_limits.h"
#include "storage/base/descriptors.h"
#include "storage/base/files.h"
#include "storage/base/status.h"
#include "storage/catalog/catalog.h"

namespace kprof {

// A source of an import while kprofd holds it: an open file of which the import reads, and its place among those that
// may be held. A resource; closing it gives all of it back.
struct HeldSource {
  UniqueFd fd;  // a regular file, read with pread alone: what its owner truncates under us ends early, and no more
  int64_t size_bytes = 0;                 // when it came
  std::shared_ptr<Places::Place> place;   // shared: by what is copied on its way from thread to thread
  std::shared_ptr<SpooledBytes> spooled;  // of one that came over the wire; the same
};

// A source of an import that comes over the wire: into a file of the state folder's tmp that has lost its name before
// the first byte is in it, so that nothing of it is left whatever happens. Its bytes count against the limits of what
// is stored from the first on (storage_limits.h). What will not be read is not taken either: more than a source may
// have, and what begins as nothing that is known. One thread at a time. Blocking: from a worker.
struct SpoolLimits {
  int64_t source_bytes = int64_t{64} << 30;    // of a source; [import] max_source_gigabytes
  int64_t kept_free_bytes = int64_t{1} << 30;  // of the disk, that large ones leave to everybody else
};

// Of a source, before it comes.
struct AnnouncedSource {
  std::string name;
  int64_t size_bytes = 0;    // 0: not known
  bool may_be_none = false;  // a trace: then its first bytes may be anything
};

class SourceSpool {
 public:
  static constexpr int64_t kLookBytes = 64 << 20;  // as often it is seen to that there is room

  // kBadInput where it has more than a source may have; kStorageFull when so much does not fit.
  static Result<std::unique_ptr<SourceSpool>> Begin(Catalog& catalog, Files& files, UploadBytes& bytes, uint32_t owner,
                                                    const AnnouncedSource& announced, const SpoolLimits& limits);

  // kStorageFull when the disk is full, or nearly so and the source is large, or a limit leaves no room; kBadInput for
  // more than a source may have, and where it is of no known format (source_formats.h).
  Status Add(std::span<const char> bytes);

  // kBadInput when another number of bytes has come, and as Add.
  Result<HeldSource> Finish(int64_t expected_bytes, Places::Place place);

 private:
  SourceSpool(Files& files, std::string folder, std::unique_ptr<SpooledBytes> spooled, const AnnouncedSource& announced,
              const SpoolLimits& limits);
  Status CheckSize(int64_t size_bytes) const;
  Status CheckRoom(int64_t more_bytes) const;
  Status Sniff();

  Files& files_;
  const std::string folder_;
  const SpoolLimits limits_;
  const std::string act_;
  const bool may_be_none_;
  std::string first_;      // the first kSniffBytes of it, as far as they have come
  int64_t looked_at_ = 0;  // when it had so many bytes there was room
  std::shared_ptr<SpooledBytes> spooled_;
  std::unique_ptr<File> file_;
};

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

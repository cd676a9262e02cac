// Holds the open files that clients have handed over until an import claims them: each under a ticket, a name that
// nobody can guess, for its user alone. An unclaimed file is closed after a minute, but not while another source of
// that user is on its way. Also takes sources that come over the wire (SourceSpool).
//
// Bounded: 1,024 of a user and 4,096 in all, with those of imports that wait or are under way; one more is refused with
// kQueueFull.
//
// Io loop only, but for TakePlace and SourceSpool.
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

// A source of an import while kprofd holds it: an open file that the import reads, and its place among those that may
// be held. A resource; closing it gives both back.
struct HeldSource {
  UniqueFd fd;             // a regular file, read with pread alone: if its owner truncates it, it ends early
  int64_t size_bytes = 0;  // when it came
  std::shared_ptr<Places::Place> place;   // shared: by its copies, from thread to thread
  std::shared_ptr<SpooledBytes> spooled;  // of a source that came over the wire; the same
};

// Limits of a source that comes over the wire.
struct SpoolLimits {
  int64_t source_bytes = int64_t{64} << 30;    // of a source; [import] max_source_gigabytes
  int64_t kept_free_bytes = int64_t{1} << 30;  // of the disk, that large ones leave to everybody else
};

// A source as its client announces it.
struct AnnouncedSource {
  std::string name;
  int64_t size_bytes = 0;    // 0: not known
  bool may_be_none = false;  // it may be no trace: then its first bytes may be anything
};

// Takes a source that comes over the wire, into a file of the state folder's tmp. The file loses its name before its
// first byte comes, so that nothing of it is left whatever happens. Its bytes count from the first on against the
// limits of what is stored (storage_limits.h). It refuses what would not be read: a source that is too large, or begins
// like no known format. One thread at a time. Blocking: from a worker.
class SourceSpool {
 public:
  static constexpr int64_t kLookBytes = 64 << 20;  // after so many bytes it looks for room again

  // kBadInput where the source has more bytes than it may; kStorageFull when they do not fit.
  static Result<std::unique_ptr<SourceSpool>> Begin(Catalog& catalog, Files& files, UploadBytes& bytes, uint32_t owner,
                                                    const AnnouncedSource& announced, const SpoolLimits& limits);

  // kStorageFull when the disk is full, or nearly so and the source is large, or a limit leaves no room; kBadInput for
  // more bytes than a source may have, and for no known format (source_formats.h).
  Status Add(std::span<const char> bytes);

  // kBadInput when another number of bytes has come; else fails as Add does.
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
  int64_t looked_at_ = 0;  // its bytes at the last look for room
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

  // `account`: the user that its owner counts as. Any thread.
  Result<Places::Place> TakePlace(uint32_t account);

  // Holds a file that a local client has opened, with its own rights; returns its ticket. kUsage for a file that is not
  // regular, is not open for reading alone, or lies where somebody else decides how long a read takes (a file system in
  // user space): the client may send its bytes instead.
  Result<std::string> Hold(uint32_t uid, uint32_t account, UniqueFd fd);
  std::string Keep(uint32_t uid, HeldSource source);

  // Gives the source to the claimer. kNotFound for a ticket that is none, or another user's.
  Result<HeldSource> Claim(uint32_t uid, const std::string& ticket);

  // Between these two, no source of that user expires.
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

// A source of an import that comes over the wire: into a file of the state folder's tmp that has lost its name before
// the first byte is in it, so that nothing of it is left whatever happens. Its bytes count against the limits of what
// is stored from the first on (upload_bytes.h). What will not be read is not taken either: more than a source may have,
// and what begins as nothing that is known. One thread at a time. Blocking: from a worker.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "daemon/runs/imports/held_source.h"
#include "daemon/runs/retention/upload_bytes.h"
#include "storage/base/files.h"
#include "storage/base/status.h"
#include "storage/catalog/catalog.h"

namespace kprof {

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
  // more than a source may have, and where it is of no known format (source_kind.h).
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

}  // namespace kprof

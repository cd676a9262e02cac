// A source of an import that comes over the wire: into a file of the state folder's tmp that has lost its name before
// the first byte is in it, so that nothing of it is left whatever happens. Its bytes count against the limits of what
// is stored from the first on (upload_bytes.h). One thread at a time. Blocking: from a worker.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "daemon/runs/held_source.h"
#include "daemon/runs/upload_bytes.h"
#include "storage/base/files.h"
#include "storage/base/status.h"
#include "storage/catalog/catalog.h"

namespace kprof {

class SourceSpool {
 public:
  // `size_bytes`: as announced; 0: not known. kStorageFull when so much does not fit.
  static Result<std::unique_ptr<SourceSpool>> Begin(Catalog& catalog, Files& files, UploadBytes& bytes, uint32_t owner,
                                                    const std::string& name, int64_t size_bytes);

  // kStorageFull when the disk is full or a limit leaves no room.
  Status Add(std::span<const char> bytes);

  // kBadInput when another number of bytes has come.
  Result<HeldSource> Finish(int64_t expected_bytes, Places::Place place);

 private:
  SourceSpool(UploadBytes& bytes, uint32_t owner, const std::string& name);

  const std::string act_;
  std::shared_ptr<SpooledBytes> spooled_;
  UploadBytes::Beside beside_;
  std::unique_ptr<File> file_;
};

}  // namespace kprof

#include "daemon/runs/imports/kept_source.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <span>

#include "daemon/ingest/source/source_hash.h"
#include "daemon/runs/command/run_folder.h"
#include "storage/crypto/sha256.h"
#include "storage/db/layout.h"

namespace kprof {
namespace {

constexpr size_t kNameBytes = 180;  // leaves room for a number

bool IsTaken(const std::string& name, const std::vector<ArtifactRow>& taken) {
  return std::any_of(taken.begin(), taken.end(), [&](const ArtifactRow& artifact) { return artifact.name == name; });
}

// As many as there are.
Result<size_t> ReadBlock(int fd, int64_t offset_bytes, std::span<char> bytes, const std::string& act) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got =
        ::pread(fd, bytes.data() + done, bytes.size() - done, offset_bytes + static_cast<int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FailErrno(errno, act);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

}  // namespace

std::string ArtifactNameFor(const std::string& source_name, const std::vector<ArtifactRow>& taken) {
  std::string name = source_name.substr(0, kNameBytes);
  for (char& c : name) {
    if (!IsSafeName(std::string("a") + c)) c = '_';
  }
  if (!IsSafeName(name) || IsReservedArtifactName(name)) name = "source_" + name + "_";
  std::string numbered = name;
  for (int i = 2; IsTaken(numbered, taken); ++i) numbered = std::to_string(i) + "_" + name;
  return numbered;
}

Result<ArtifactRow> KeepSource(const ImportedSource& source, Files& files, const std::string& path,
                               const std::string& name, const std::stop_token& stop) {
  const std::string act = "keep the source as artifact " + name;
  ASSIGN_OR_RETURN(const int64_t free_bytes, files.ReadFreeBytes(FolderOf(path)));
  if (source.size_bytes > free_bytes) {
    return Fail(
        ErrorCode::kStorageFull, act,
        "it has " + std::to_string(source.size_bytes) + " bytes, and " + std::to_string(free_bytes) + " are free",
        "delete runs, make room on the disk of the state folder, or import without --keep-source");
  }
  const Status changed = Fail(ErrorCode::kBadInput, act, "its bytes changed while it was imported",
                              "import it again when nobody writes it any more");
  ASSIGN_OR_RETURN(std::unique_ptr<File> copy, files.Create(path));
  ArtifactRow artifact{name, 0, ""};
  Sha256 sum;
  SourceHash hash;
  std::vector<char> block(kHashBlockBytes);
  for (size_t i = 0; i < SourceHash::BlocksOf(source.size_bytes); ++i) {
    if (stop.stop_requested()) return Fail(ErrorCode::kCancelled, act, "it was stopped");
    const int64_t left = source.size_bytes - artifact.size_bytes;
    const std::span<char> bytes(block.data(), static_cast<size_t>(std::min<int64_t>(kHashBlockBytes, left)));
    ASSIGN_OR_RETURN(const size_t got, ReadBlock(source.fd, artifact.size_bytes, bytes, act));
    if (got < bytes.size()) return changed;
    RETURN_IF_ERROR(copy->Append(bytes));
    sum.Add(bytes);
    hash.AddBlock(i, bytes);
    artifact.size_bytes += static_cast<int64_t>(bytes.size());
  }
  if (hash.Finish(source.size_bytes) != source.hash) return changed;
  RETURN_IF_ERROR(copy->Sync());
  artifact.sha256 = sum.Finish();
  return artifact;
}

}  // namespace kprof

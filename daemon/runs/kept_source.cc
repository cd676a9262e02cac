#include "daemon/runs/kept_source.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "daemon/runs/run_folder.h"
#include "storage/base/sha256.h"
#include "storage/layout.h"

namespace kprof {
namespace {

constexpr size_t kPieceBytes = 1 << 20;
constexpr size_t kNameBytes = 180;  // leaves room for a number

bool IsTaken(const std::string& name, const std::vector<ArtifactRow>& taken) {
  return std::any_of(taken.begin(), taken.end(), [&](const ArtifactRow& artifact) { return artifact.name == name; });
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

Result<ArtifactRow> KeepSource(int fd, Files& files, const std::string& path, const std::string& name,
                               const std::stop_token& stop) {
  const std::string act = "keep the source as artifact " + name;
  ASSIGN_OR_RETURN(std::unique_ptr<File> copy, files.Create(path));
  ArtifactRow artifact{name, 0, ""};
  Sha256 sum;
  const auto piece = std::make_unique<char[]>(kPieceBytes);
  while (true) {
    if (stop.stop_requested()) return Fail(ErrorCode::kCancelled, act, "it was stopped");
    const ssize_t got = ::pread(fd, piece.get(), kPieceBytes, artifact.size_bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FailErrno(errno, act);
    if (got == 0) break;
    const std::span<const char> bytes(piece.get(), static_cast<size_t>(got));
    RETURN_IF_ERROR(copy->Append(bytes));
    sum.Add(bytes);
    artifact.size_bytes += got;
  }
  RETURN_IF_ERROR(copy->Sync());
  artifact.sha256 = sum.Finish();
  return artifact;
}

}  // namespace kprof

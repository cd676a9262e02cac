#include "daemon/runs/launch_spool.h"

#include <string_view>

#include "storage/base/sha256.h"

namespace kprof {
namespace {

constexpr std::string_view kMagic = "kprofspool1\n";
constexpr size_t kHeaderBytes = kMagic.size() + 64 + 1;

}  // namespace

Status WriteSpool(Files& files, const Layout& layout, const std::string& run_id, const LaunchRequest& request) {
  std::string payload = EncodeLaunchRequest(request);
  std::string content = std::string(kMagic) + Sha256Of(payload) + "\n" + payload;
  const std::string path = layout.SpoolPath(run_id);
  auto write = [&]() -> Status {
    ASSIGN_OR_RETURN(std::unique_ptr<File> file, files.Create(path));
    RETURN_IF_ERROR(file->Append(content));
    RETURN_IF_ERROR(file->Sync());
    return files.SyncFolder(layout.SpoolFolder());
  };
  Status status = write();
  if (!status.ok()) (void)files.Remove(path);
  return status;
}

Result<LaunchRequest> ReadSpool(Files& files, const Layout& layout, const std::string& run_id) {
  const std::string path = layout.SpoolPath(run_id);
  Result<std::string> content = ReadWholeFile(files, path, kLaunchFrameLimitBytes);
  if (!content.ok() && content.status().code() == ErrorCode::kNotFound) {
    return Fail(ErrorCode::kStorageBroken, "read " + path, "the file is gone", "submit the run again");
  }
  if (!content.ok()) return content.status();
  std::string_view view = *content;
  Status damaged = Fail(ErrorCode::kStorageBroken, "read " + path, "its checksum does not match its content",
                        "submit the run again");
  if (view.size() < kHeaderBytes || !view.starts_with(kMagic)) return damaged;
  std::string_view payload = view.substr(kHeaderBytes);
  if (Sha256Of(payload) != view.substr(kMagic.size(), 64)) return damaged;
  return DecodeLaunchRequest(payload);
}

Status RemoveSpool(Files& files, const Layout& layout, const std::string& run_id) {
  return files.Remove(layout.SpoolPath(run_id));
}

}  // namespace kprof

#include "daemon/runs/command/launch_spool.h"

#include <string_view>

#include "storage/crypto/sha256.h"

namespace kprof {
namespace {

constexpr std::string_view kMagic = "kprofspool2\n";
constexpr std::string_view kFirstMagic = "kprofspool1\n";
static_assert(kMagic.size() == kFirstMagic.size());
constexpr size_t kSumBytes = 64;
constexpr size_t kHeaderBytes = kMagic.size() + kSumBytes + 1;

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
  auto damaged = [&](const std::string& why) {
    return Fail(ErrorCode::kStorageBroken, "read " + path, why, "submit the run again");
  };
  if (!content.ok() && content.status().code() == ErrorCode::kUsage)
    return damaged(content.status().why());  // its size
  if (!content.ok()) return content.status();
  std::string_view view = *content;
  const bool is_first = view.starts_with(kFirstMagic);
  if (view.size() < kHeaderBytes || (!is_first && !view.starts_with(kMagic)) || view[kHeaderBytes - 1] != '\n') {
    return damaged("it does not begin as a launch file does");
  }
  std::string_view payload = view.substr(kHeaderBytes);
  if (Sha256Of(payload) != view.substr(kMagic.size(), kSumBytes)) {
    return damaged("its checksum does not match its content");
  }
  Result<LaunchRequest> request = is_first ? DecodeFirstLaunchRequest(payload) : DecodeLaunchRequest(payload);
  if (!request.ok()) return damaged(request.status().why());
  if (Status makes_sense = CheckLaunchRequest(*request); !makes_sense.ok()) return damaged(makes_sense.why());
  return request;
}

Status RemoveSpool(Files& files, const Layout& layout, const std::string& run_id) {
  return files.Remove(layout.SpoolPath(run_id));
}

void RemoveSpoolSoon(const RunContext& context, const std::string& run_id) {
  // Knows the context and not who asked, who may be gone by then.
  (void)context.workers.Submit(
      [context, run_id] { (void)RemoveSpool(context.files, context.catalog.layout(), run_id); });
}

}  // namespace kprof

#include "client/cli/checked_download.h"

namespace kprof::cli {

Status CheckedDownload::AddBytes(const std::string& bytes) {
  received_.Add(bytes);
  size_bytes_ += static_cast<int64_t>(bytes.size());
  return target_.Write(bytes);
}

Result<std::string> CheckedDownload::Finish(const std::string& what) {
  std::string sha256 = received_.Finish();
  if (sha256 != sent_sha256_) {
    return Fail(ErrorCode::kInternal, what, "what arrived is not what was sent", "try again");
  }
  return sha256;
}

}  // namespace kprof::cli

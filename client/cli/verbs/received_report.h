// The files of a run's report, as they come from the daemon. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kprof/v1/analyses.pb.h"
#include "storage/base/status.h"

namespace kprof::cli {

// The limit of work for all files of a report: of fifty million numbers they take half a minute.
inline constexpr int64_t kWholeReportTimeoutMs = 300'000;

struct ReceivedFile {
  std::string name;
  std::string bytes;
};

class ReceivedReport {
 public:
  static constexpr size_t kMostFileBytes = 64 << 20;

  // Takes each message of the stream. Fails with kInternal for bytes that are of no file, or of too large a one.
  Status Add(const v1::GetReportResponse& message) {
    if (message.has_header()) header_ = message.header();
    if (message.has_file()) files_.push_back({message.file().name(), {}});
    if (!message.has_data()) return OkStatus();
    if (files_.empty() || files_.back().bytes.size() + message.data().size() > kMostFileBytes) {
      return Fail(ErrorCode::kInternal, "report", "kprofd sent what is no report", "see that both are of one version");
    }
    files_.back().bytes += message.data();
    return OkStatus();
  }

  const v1::GetReportResponse::Header& header() const { return header_; }
  const std::vector<ReceivedFile>& files() const { return files_; }

 private:
  v1::GetReportResponse::Header header_;
  std::vector<ReceivedFile> files_;
};

}  // namespace kprof::cli

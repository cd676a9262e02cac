// The formats that traces are exported in, by name. A new format is a file of its own, and a line of the list in
// trace_export.cc. Also the things that all formats share: parts, the sink, and the one who watches.
//
// Blocks; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {

// A part of a trace that is exported, with its rank.
struct ExportPart {
  PartReader* reader = nullptr;  // borrowed
  // The rank that its run knows: if several sources say none, their names or their order decide. Absent: the rank that
  // the part says itself.
  std::optional<int64_t> known_rank = {};

  std::optional<int64_t> rank() const { return known_rank ? known_rank : reader->IntegerFact("rank"); }
};

// Takes the bytes of an export in the order of the file, in pieces as they come. A failure ends the export, with that
// failure.
using ExportSink = std::function<Status(std::string_view bytes)>;

struct ExportProgress {
  int64_t rows = 0;
  int64_t total_rows = 0;
};

// A beginning of paths, and what stands for it: "/workspace" -> "/home/me/model". "." are relative paths.
struct PathMap {
  std::string from;
  std::string to;
};

// The one who asked for an export: hears how far it is, some times a second or less, and what the file's reader should
// know; may end it.
struct ExportWatch {
  std::stop_token stop;
  std::function<void(const ExportProgress&)> progress = [](const ExportProgress&) {};
  std::function<void(std::string)> note = [](const std::string&) {};  // at most a few lines
  std::vector<PathMap> path_maps = {};                                // of files of a Scalene profile
};

// Gathers small pieces on their way to the sink, reports progress, and sees whether the export is to stop.
class ExportOutput {
 public:
  // Both are borrowed.
  ExportOutput(const ExportSink& sink, const ExportWatch& watch, int64_t total_rows)
      : sink_(sink), watch_(watch), total_rows_(total_rows) {}

  // Bytes that are appended here go out with one of the next steps.
  std::string& bytes() { return bytes_; }

  // Call it for each row that is written. Fails with kCancelled once the export is to stop.
  Status Step() {
    ++rows_;
    if (bytes_.size() < kFullBytes && rows_ % kLookRows != 0) return OkStatus();
    return Flush();
  }
  Status Flush() {
    if (watch_.stop.stop_requested()) return Fail(ErrorCode::kCancelled, "export it", "it was cancelled");
    if (!bytes_.empty()) RETURN_IF_ERROR(sink_(bytes_));
    bytes_.clear();
    watch_.progress({rows_, total_rows_});
    return OkStatus();
  }

 private:
  static constexpr size_t kFullBytes = 256 << 10;
  static constexpr int64_t kLookRows = 16'384;

  const ExportSink& sink_;
  const ExportWatch& watch_;
  const int64_t total_rows_;
  int64_t rows_ = 0;
  std::string bytes_;
};

struct ExportFormat {
  std::string_view name;
  std::string_view file_ending;  // of a file of it: ".json"
  Status (*write)(std::span<const ExportPart> parts, const ExportSink& sink, const ExportWatch& watch);
};

std::span<const ExportFormat> ExportFormats();

// Fails with kUsage, naming the formats that there are.
Result<ExportFormat> FindExportFormat(std::string_view name);

}  // namespace kprof

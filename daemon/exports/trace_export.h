// The formats in which traces leave, by name: adding one means a file of its own, and a line here.
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

#include "storage/base/status.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {

// A part of a trace that is exported, and which rank it is.
struct ExportPart {
  PartReader* reader = nullptr;  // borrowed
  // As its run has it: of several sources that say nothing, their names or their order decide. Absent: as it says
  // itself.
  std::optional<int64_t> known_rank = {};

  std::optional<int64_t> rank() const { return known_rank ? known_rank : reader->IntegerFact("rank"); }
};

// Where an export goes: its bytes in the order of the file, in pieces as they come.
//
// One thread.

// A failure ends the export, with that failure.
using ExportSink = std::function<Status(std::string_view bytes)>;

struct ExportProgress {
  int64_t rows = 0;
  int64_t total_rows = 0;
};

// Who waits for an export: hears how far it is, some times a second or less, and may end it.
struct ExportWatch {
  std::stop_token stop;
  std::function<void(const ExportProgress&)> progress = [](const ExportProgress&) {};
};

// Gathers what is small on its way to the sink, and looks whether it is to go on.
class ExportOutput {
 public:
  // Both are borrowed.
  ExportOutput(const ExportSink& sink, const ExportWatch& watch, int64_t total_rows)
      : sink_(sink), watch_(watch), total_rows_(total_rows) {}

  // What is appended here goes out with the next step.
  std::string& bytes() { return bytes_; }

  // Another row is written. Fails with kCancelled once it is to stop.
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

// Fails with kUsage, naming those that there are.
Result<ExportFormat> FindExportFormat(std::string_view name);

}  // namespace kprof

// The formats in which traces leave, by name: adding one means a file of its own, and a line here.
//
// Blocks; one thread.
#pragma once

#include <span>
#include <string_view>

#include "daemon/exports/export_part.h"
#include "daemon/exports/export_sink.h"
#include "storage/base/status.h"

namespace kprof {

struct ExportFormat {
  std::string_view name;
  std::string_view file_ending;  // of a file of it: ".json"
  Status (*write)(std::span<const ExportPart> parts, const ExportSink& sink, const ExportWatch& watch);
};

std::span<const ExportFormat> ExportFormats();

// Fails with kUsage, naming those that there are.
Result<ExportFormat> FindExportFormat(std::string_view name);

}  // namespace kprof

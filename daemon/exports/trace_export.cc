#include "daemon/exports/trace_export.h"

#include <string>

#include "daemon/exports/chrome_export.h"
#include "daemon/exports/csv_export.h"
#include "daemon/exports/perfetto_export.h"
#include "daemon/exports/scalene_export.h"

namespace kprof {
namespace {

constexpr ExportFormat kFormats[] = {
    {"chrome", ".json", ExportChrome},
    {"perfetto", ".pftrace", ExportPerfetto},
    {"csv", ".csv", ExportCsv},
    {"scalene", ".json", ExportScalene},
};

}  // namespace

std::span<const ExportFormat> ExportFormats() {
  return kFormats;
}

Result<ExportFormat> FindExportFormat(std::string_view name) {
  std::string names;
  for (const ExportFormat& format : kFormats) {
    if (format.name == name) return format;
    names += (names.empty() ? "" : ", ") + std::string(format.name);
  }
  return Fail(ErrorCode::kUsage, "export", "there is no format \"" + std::string(name) + "\"",
              "give one of " + names + "; kprofctl also has profiles");
}

}  // namespace kprof

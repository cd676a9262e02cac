#include "daemon/rpc/run_traces.h"

#include <algorithm>

#include "storage/trace/part_schema.h"

namespace kprof {

Result<std::vector<TracePlace>> FindTrace(Files& files, const Layout& layout, const RunRow& run,
                                          const std::string& act) {
  const std::string folder = layout.RunFolder(run.id);
  std::vector<TracePlace> places;
  Result<std::vector<FolderEntry>> entries = files.List(folder);
  if (!entries.ok() && entries.status().code() != ErrorCode::kNotFound) return entries.status().In(act);
  for (const FolderEntry& entry : entries.ok() ? *entries : std::vector<FolderEntry>()) {
    if (entry.is_folder || !entry.name.ends_with(kPartEnding) || !IsSafeName(entry.name)) continue;
    places.push_back(
        {run.id, entry.name.substr(0, entry.name.size() - kPartEnding.size()), folder + "/" + entry.name, {}});
  }
  if (places.empty()) {
    return Fail(ErrorCode::kUsage, act, "run " + run.id + " has no trace", "name one that has, or leave it out");
  }
  std::sort(places.begin(), places.end(), [](const TracePlace& a, const TracePlace& b) { return a.part < b.part; });
  return places;
}

}  // namespace kprof

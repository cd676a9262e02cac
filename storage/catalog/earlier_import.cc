#include "storage/catalog/earlier_import.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "storage/catalog/run_reader.h"
#include "storage/db/statement.h"

namespace kprof {
namespace {

// A hash begins with the size and '-'; '.' is the character after that.
constexpr const char* kSelectOfSize = R"sql(
SELECT 1 FROM trace_parts INDEXED BY trace_parts_by_source
WHERE uid = ?1 AND source_hash >= ?2 || '-' AND source_hash < ?2 || '.' LIMIT 1
)sql";

constexpr const char* kSelectWithSource = R"sql(
SELECT DISTINCT run_id FROM trace_parts INDEXED BY trace_parts_by_source
WHERE uid = ?1 AND source_hash = ?2 ORDER BY run_id DESC LIMIT 100
)sql";

void Sort(std::vector<WantedSource>& sources) {
  std::sort(sources.begin(), sources.end(), [](const WantedSource& a, const WantedSource& b) {
    return std::tie(a.hash, a.asked_rank) < std::tie(b.hash, b.asked_rank);
  });
}

bool IsOf(const RunRow& run, const std::vector<WantedSource>& sorted, bool kept) {
  if (run.state != RunState::kDone || run.tool != "import" || run.trace.size() != sorted.size()) return false;
  std::vector<WantedSource> has;
  for (const TracePartRow& part : run.trace) {
    if (kept && FindArtifact(run, part.source_artifact) == nullptr) return false;
    has.push_back({part.source_hash, part.source_format, part.asked_rank});
  }
  Sort(has);
  return std::equal(has.begin(), has.end(), sorted.begin(), [](const WantedSource& one, const WantedSource& wanted) {
    return one.hash == wanted.hash && one.asked_rank == wanted.asked_rank &&
           (!wanted.format || one.format == wanted.format);
  });
}

}  // namespace

Result<bool> HasSourcesOfSizes(Db& db, uint32_t uid, const std::vector<int64_t>& sizes_bytes) {
  Statement select(db, kSelectOfSize);
  for (const int64_t size_bytes : sizes_bytes) {
    select.Bind(1, int64_t{uid}).BindText(2, std::to_string(size_bytes));
    if (!select.Next()) {
      RETURN_IF_ERROR(select.status());
      return false;
    }
    while (select.Next()) {
    }
  }
  return true;
}

Result<std::optional<RunRow>> FindImport(Db& db, uint32_t uid, std::vector<WantedSource> sources, bool kept) {
  if (sources.empty()) return std::optional<RunRow>();
  Sort(sources);
  std::vector<std::string> ids;
  Statement select(db, kSelectWithSource);
  select.Bind(1, int64_t{uid}).BindText(2, sources.front().hash);
  while (select.Next()) ids.emplace_back(select.Text(0));
  RETURN_IF_ERROR(select.status());
  RunReader reader(db);
  for (const std::string& id : ids) {
    ASSIGN_OR_RETURN(std::optional<RunRow> run, reader.Read(id));
    if (run && IsOf(*run, sources, kept)) return run;
  }
  return std::optional<RunRow>();
}

}  // namespace kprof

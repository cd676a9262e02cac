#include "storage/catalog/run_list.h"

#include <algorithm>

#include "storage/catalog/id_query.h"
#include "storage/catalog/run_reader.h"
#include "storage/db/statement.h"

namespace kprof {
namespace {

constexpr size_t kRunFilterLimit = 100;

bool AllOpen(const std::vector<RunState>& states) {
  return !states.empty() && std::none_of(states.begin(), states.end(), IsTerminal);
}

// What is true of the runs wanted, apart from the owner and the first label.
void AddConditions(IdQuery& query, const RunFilter& filter) {
  if (!filter.before_id.empty()) query.Add(" AND r.id < ?", filter.before_id);
  if (!filter.tools.empty()) {
    query.Add(" AND r.tool IN (" + Placeholders(filter.tools.size()) + ")");
    for (const std::string& tool : filter.tools) query.Add("", tool);
  }
  if (!filter.states.empty()) {
    query.Add(" AND r.state IN (" + Placeholders(filter.states.size()) + ")");
    for (RunState state : filter.states) query.Add("", static_cast<int64_t>(state));
  }
  for (size_t i = 1; i < filter.labels.size(); ++i) {
    query.Add(" AND EXISTS (SELECT 1 FROM run_labels WHERE run_id = r.id AND key = ? AND value = ?)",
              filter.labels[i].first, filter.labels[i].second);
  }
}

// The index is named each time: no statistics are kept, and a wrong guess would read the whole table.
IdQuery BuildIdQuery(const RunFilter& filter) {
  IdQuery query;
  const std::string visible = " AND (r.uid = ? OR r.shared = 1)";
  if (!filter.labels.empty()) {
    query.Add(
        "SELECT r.id FROM run_labels AS l INDEXED BY run_labels_by_label CROSS JOIN runs AS r ON r.id = l.run_id "
        "WHERE l.key = ? AND l.value = ?",
        filter.labels[0].first, filter.labels[0].second);
    if (!filter.before_id.empty()) query.Add(" AND l.run_id < ?", filter.before_id);
    if (filter.uid.has_value()) query.Add(visible, int64_t{*filter.uid});
    AddConditions(query, filter);
    query.Add(" ORDER BY l.run_id DESC");
  } else if (AllOpen(filter.states)) {
    query.Add("SELECT r.id FROM runs AS r INDEXED BY runs_open WHERE r.state < 4");
    if (filter.uid.has_value()) query.Add(visible, int64_t{*filter.uid});
    AddConditions(query, filter);
    query.Add(" ORDER BY r.id DESC");
  } else if (filter.uid.has_value()) {
    // Two ordered walks, merged.
    query.Add("SELECT r.id AS id FROM runs AS r INDEXED BY runs_by_owner WHERE r.uid = ?", int64_t{*filter.uid});
    AddConditions(query, filter);
    query.Add(" UNION SELECT r.id FROM runs AS r INDEXED BY runs_shared WHERE r.shared = 1");
    AddConditions(query, filter);
    query.Add(" ORDER BY id DESC");
  } else {
    query.Add("SELECT r.id FROM runs AS r WHERE 1");
    AddConditions(query, filter);
    query.Add(" ORDER BY r.id DESC");
  }
  return query;
}

}  // namespace

Result<std::optional<RunRow>> ReadRunByKey(Db& db, uint32_t uid, const std::string& idempotency_key) {
  Statement find(db, "SELECT id FROM runs WHERE uid = ?1 AND idempotency_key = ?2");
  if (find.Bind(1, int64_t{uid}).BindText(2, idempotency_key).Next()) {
    return RunReader(db).Read(std::string(find.Text(0)));
  }
  RETURN_IF_ERROR(find.status());
  return std::optional<RunRow>();
}

Result<std::vector<RunRow>> ReadOpenRuns(Db& db) {
  IdQuery query{"SELECT id FROM runs INDEXED BY runs_open WHERE state < 4 ORDER BY id", {}};
  ASSIGN_OR_RETURN(std::vector<std::string> ids, SelectIds(db, query));
  return RunReader(db).ReadAll(ids);
}

Result<std::string> ReadLastRunId(Db& db) {
  Statement select(db, "SELECT id FROM runs ORDER BY id DESC LIMIT 1");
  if (select.Next()) return std::string(select.Text(0));
  RETURN_IF_ERROR(select.status());
  return std::string();
}

Result<std::vector<RunRow>> ListRuns(Db& db, const RunFilter& filter) {
  KPROF_CHECK(filter.limit >= 1 && filter.limit <= 1000);
  if (filter.labels.size() > kRunFilterLimit || filter.tools.size() > kRunFilterLimit) {
    return Fail(ErrorCode::kUsage, "list runs", "more than " + std::to_string(kRunFilterLimit) + " labels or tools");
  }
  RunFilter bounded = filter;
  std::sort(bounded.states.begin(), bounded.states.end());
  bounded.states.erase(std::unique(bounded.states.begin(), bounded.states.end()), bounded.states.end());
  IdQuery query = BuildIdQuery(bounded);
  query.Add(" LIMIT ?", filter.limit);
  ASSIGN_OR_RETURN(std::vector<std::string> ids, SelectIds(db, query));
  return RunReader(db).ReadAll(ids);
}

Result<std::vector<std::string>> FindRunIds(Db& db, const std::string& prefix, std::optional<uint32_t> uid,
                                            int64_t limit) {
  IdQuery query;
  query.Add("SELECT id FROM runs WHERE id >= ?", prefix);
  if (std::string end = EndOfPrefix(prefix); !end.empty()) query.Add(" AND id < ?", end);
  if (uid.has_value()) query.Add(" AND (uid = ? OR shared = 1)", int64_t{*uid});
  query.Add(" ORDER BY id DESC LIMIT ?", limit);
  return SelectIds(db, query);
}

Result<std::string> ReadRecentRunId(Db& db, int64_t back, std::optional<uint32_t> uid) {
  RunFilter filter;
  filter.uid = uid;
  IdQuery query = BuildIdQuery(filter);
  query.Add(" LIMIT 1 OFFSET ?", back);
  ASSIGN_OR_RETURN(std::vector<std::string> ids, SelectIds(db, query));
  if (ids.empty()) {
    return Fail(ErrorCode::kNotFound, "find run @last~" + std::to_string(back), "there are not as many runs");
  }
  return ids[0];
}

Result<CatalogCounts> ReadCounts(Db& db) {
  Statement select(db,
                   "SELECT (SELECT value FROM facts WHERE name = 'runs'), "
                   "(SELECT value FROM facts WHERE name = 'artifact_bytes')");
  if (select.Next()) return CatalogCounts{select.Integer(0), select.Integer(1)};
  return select.status().ok() ? Fail(ErrorCode::kInternal, "read counts", "no row") : select.status();
}

}  // namespace kprof

#include "storage/catalog/run_list.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "storage/catalog/run_table.h"
#include "storage/db/statement.h"

namespace kprof {

std::string Placeholders(size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += i == 0 ? "?" : ", ?";
  return text;
}

Result<std::vector<std::string>> SelectIds(Db& db, const IdQuery& query) {
  Statement select(db, query.sql);
  for (size_t i = 0; i < query.values.size(); ++i) {
    int index = static_cast<int>(i) + 1;
    if (const int64_t* integer = std::get_if<int64_t>(&query.values[i])) {
      select.Bind(index, *integer);
    } else {
      select.BindText(index, std::get<std::string>(query.values[i]));
    }
  }
  std::vector<std::string> ids;
  while (select.Next()) ids.emplace_back(select.Text(0));
  RETURN_IF_ERROR(select.status());
  return ids;
}

std::string EndOfPrefix(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xff) prefix.pop_back();
  if (!prefix.empty()) ++prefix.back();
  return prefix;
}

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
    has.push_back({part.source_hash, {part.source_format}, part.asked_rank});
  }
  Sort(has);
  return std::equal(has.begin(), has.end(), sorted.begin(), [](const WantedSource& one, const WantedSource& wanted) {
    return one.hash == wanted.hash && one.asked_rank == wanted.asked_rank &&
           (wanted.formats.empty() ||
            std::find(wanted.formats.begin(), wanted.formats.end(), one.formats.front()) != wanted.formats.end());
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

namespace {

// A text, "RUN NEWEST": the newest run of all when RUN was the answer.
constexpr const char* kNoteAnswer = R"sql(
INSERT OR REPLACE INTO facts (name, value) SELECT 'answered.' || ?1, ?2 || ' ' || max(id) FROM runs
)sql";
constexpr const char* kReadAnswer = "SELECT value FROM facts WHERE name = 'answered.' || ?1";

struct AnsweredRun {
  std::string id;
  std::string newest;  // then
};

Result<std::optional<AnsweredRun>> ReadAnswer(Db& db, uint32_t uid) {
  Statement select(db, kReadAnswer);
  select.Bind(1, int64_t{uid});
  if (!select.Next()) {
    RETURN_IF_ERROR(select.status());
    return std::optional<AnsweredRun>();
  }
  const std::string_view text = select.Text(0);
  const size_t space = text.find(' ');
  if (space == text.npos) return std::optional<AnsweredRun>();
  return std::optional(AnsweredRun{std::string(text.substr(0, space)), std::string(text.substr(space + 1))});
}

// Newest first; where `id` is given, only those of which `condition` about it holds.
IdQuery RecentRuns(std::optional<uint32_t> uid, const std::string& condition, const std::string& id) {
  IdQuery query;
  const auto add_condition = [&] {
    if (!id.empty()) query.Add(" AND " + condition, id);
  };
  if (uid.has_value()) {
    // Two ordered walks, merged.
    query.Add("SELECT r.id AS id FROM runs AS r INDEXED BY runs_by_owner WHERE r.uid = ?", int64_t{*uid});
    add_condition();
    query.Add(" UNION SELECT r.id FROM runs AS r INDEXED BY runs_shared WHERE r.shared = 1");
  } else {
    query.Add("SELECT r.id AS id FROM runs AS r WHERE 1");
  }
  add_condition();
  query.Add(" ORDER BY id DESC");
  return query;
}

Result<std::vector<std::string>> SelectRecent(Db& db, IdQuery query, int64_t offset) {
  query.Add(" LIMIT 1 OFFSET ?", offset);
  return SelectIds(db, query);
}

}  // namespace

Status NoteAnswer(Db& db, uint32_t uid, const std::string& run_id) {
  Statement note(db, kNoteAnswer);
  note.Bind(1, int64_t{uid});
  note.BindText(2, run_id);
  return note.Run();
}

Result<std::string> ReadRecentRunId(Db& db, int64_t back, std::optional<uint32_t> uid, std::optional<uint32_t> asker) {
  std::optional<AnsweredRun> answer;
  if (asker.has_value()) {
    ASSIGN_OR_RETURN(answer, ReadAnswer(db, *asker));
  }
  if (answer) {
    ASSIGN_OR_RETURN(const std::vector<std::string> itself,
                     SelectRecent(db, RecentRuns(uid, "r.id = ?", answer->id), 0));
    if (itself.empty()) answer.reset();
  }
  int64_t skipped = back;
  if (answer) {
    // Its place is behind those that came later.
    const IdQuery later = RecentRuns(uid, "r.id > ?", answer->newest);
    ASSIGN_OR_RETURN(const std::vector<std::string> at_place, SelectRecent(db, later, back));
    if (!at_place.empty()) return at_place[0];
    if (back == 0) return answer->id;
    ASSIGN_OR_RETURN(const std::vector<std::string> before, SelectRecent(db, later, back - 1));
    if (!before.empty()) return answer->id;
    --skipped;
  }
  const IdQuery others = RecentRuns(uid, "r.id <> ?", answer ? answer->id : "");
  ASSIGN_OR_RETURN(const std::vector<std::string> ids, SelectRecent(db, others, skipped));
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

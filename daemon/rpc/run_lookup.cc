#include "daemon/rpc/run_lookup.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "daemon/runs/run_id.h"
#include "storage/base/readable_text.h"
#include "storage/catalog/run_list.h"
#include "storage/catalog/run_table.h"

namespace kprof {
namespace {

constexpr std::string_view kLast = "@last";
constexpr size_t kNameLimitBytes = 64;

// N of "@last~N", 0 of "@last"; nothing for what is neither.
std::optional<int64_t> ParseLast(std::string_view name) {
  if (!name.starts_with(kLast)) return std::nullopt;
  name.remove_prefix(kLast.size());
  if (name.empty()) return 0;
  int64_t back = 0;
  if (name[0] != '~') return std::nullopt;
  auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), back);
  if (error == std::errc::invalid_argument || end != name.data() + name.size() || name[1] == '-') return std::nullopt;
  return error == std::errc::result_out_of_range ? INT64_MAX : back;
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

Result<std::string> ResolveName(Db& db, const Caller& caller, const std::string& name, const std::string& act) {
  std::optional<uint32_t> uid;
  if (!caller.sees_all()) uid = caller.uid;
  if (std::optional<int64_t> back = ParseLast(name)) return ReadRecentRunId(db, *back, uid);
  if (name.empty() || name[0] == '@') {
    return Fail(ErrorCode::kUsage, act, "that is not a run id", "give an id, a beginning of one, @last or @last~N");
  }
  if (!LooksLikeRunId(name)) return Fail(ErrorCode::kNotFound, act, "there is no such run");
  const std::string prefix = LowerCase(name);
  if (prefix.size() == kRunIdLength) return prefix;
  ASSIGN_OR_RETURN(std::vector<std::string> ids, FindRunIds(db, prefix, uid, 2));
  if (ids.empty()) return Fail(ErrorCode::kNotFound, act, "there is no such run", "list yours with kprofctl runs");
  if (ids.size() > 1) {
    return Fail(ErrorCode::kUsage, act, "more than one run begins so: " + ids[1] + ", " + ids[0],
                "give more of the id");
  }
  return ids[0];
}

std::string FullAct(const std::string& act, const std::string& name) {
  return act + " " + ClippedText(name, kNameLimitBytes);
}

}  // namespace

Result<RunRow> LookUpStoredRun(Db& db, const Caller& caller, const std::string& name, Rpc rpc, const std::string& act) {
  const std::string full_act = FullAct(act, name);
  auto look = [&]() -> Result<RunRow> {
    ASSIGN_OR_RETURN(std::string id, ResolveName(db, caller, name, full_act));
    return ReadRun(db, id);
  };
  Result<RunRow> row = look();
  if (!row.ok()) {
    const Status& failure = row.status();
    if (failure.code() != ErrorCode::kNotFound) return failure.what() == full_act ? failure : failure.In(full_act);
    return Fail(ErrorCode::kNotFound, full_act, "there is no such run", "list yours with kprofctl runs");
  }
  RETURN_IF_ERROR(AuthorizeRun(caller, rpc, *row, full_act));
  return row;
}

void LookUpRun(const RpcParts& parts, const Caller& caller, const std::string& name, Rpc rpc, const std::string& act,
               std::function<void(Result<RunRow>)> then) {
  auto read = [&parts, caller, rpc, act](const std::string& which) -> Result<RunRow> {
    Result<ReaderPool::Lease> reader = parts.catalog.readers().Borrow();
    if (!reader.ok()) return reader.status().In(FullAct(act, which));
    return LookUpStoredRun(**reader, caller, which, rpc, act);
  };
  auto job = [&parts, name, act, read, then] {
    Result<RunRow> row = read(name);
    parts.loop.Post([&parts, act, row = std::move(row), read, then] {
      if (!row.ok()) return then(row);
      if (const RunRow* open = parts.runs.FindOpenRow(row->id)) return then(*open);
      if (IsTerminal(row->state)) return then(row);
      // It ended between the read and now: its end is in the catalog.
      Status submitted = parts.workers.Submit(
          [&parts, id = row->id, read, then] { parts.loop.Post([row = read(id), then] { then(row); }); });
      if (!submitted.ok()) then(submitted.In(FullAct(act, row->id)));
    });
  };
  Status submitted = parts.workers.Submit(std::move(job));
  if (!submitted.ok()) parts.loop.Post([then, refused = submitted.In(FullAct(act, name))] { then(refused); });
}

}  // namespace kprof

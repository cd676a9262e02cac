#include "daemon/runs/object_lookup.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/runs/audit/audited_calls.h"
#include "daemon/runs/run_id.h"
#include "storage/base/readable_text.h"
#include "storage/base/status.h"
#include "storage/catalog/run_list.h"
#include "storage/catalog/run_table.h"
#include "storage/catalog/session_table.h"

namespace kprof {
namespace {

constexpr std::string_view kLast = "@last";
constexpr size_t kObjectNameLimitBytes = 64;

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

}  // namespace

std::string ActOn(const std::string& act, const std::string& name) {
  return act + " " + ClippedText(name, kObjectNameLimitBytes);
}

Result<std::string> ResolveName(const std::string& name, const NamedObjects& objects, const std::string& act) {
  const std::string noun = objects.noun;
  if (std::optional<int64_t> back = ParseLast(name)) return objects.recent(*back);
  if (name.empty() || name[0] == '@') {
    return Fail(ErrorCode::kUsage, act, "that is not a " + noun + " id",
                "give an id, a beginning of one, @last or @last~N");
  }
  if (name.starts_with("label:")) {
    return Fail(ErrorCode::kUsage, act, "a label names any number of " + noun + "s",
                "give an id here; analyses and queries take labels");
  }
  if (!LooksLikeRunId(name)) return Fail(ErrorCode::kNotFound, act, "there is no such " + noun);
  const std::string prefix = LowerCase(name);
  if (prefix.size() == kRunIdLength) return prefix;
  ASSIGN_OR_RETURN(std::vector<std::string> ids, objects.starting(prefix));
  if (ids.empty()) return Fail(ErrorCode::kNotFound, act, "there is no such " + noun, objects.remedy);
  if (ids.size() > 1) {
    return Fail(ErrorCode::kUsage, act, "more than one " + noun + " begins so: " + ids[1] + ", " + ids[0],
                "give more of the id");
  }
  return ids[0];
}

namespace {

// A run or a session as it is now: from the io loop, which has what is open, else from the catalog. Between the two it
// can hide twice: it has ended since the catalog was read, and its end is there now; or it has been committed, and the
// loop is about to hear of it. The writer answers in order: when it answers a job that was given to it after the look,
// the loop has heard of all that was seen.
template <typename Row>
struct CurrentRow {
  LookupContext context;
  std::string act;                                             // begins the message of a full pool
  std::function<Result<Row>(const std::string& name)> read;    // from the catalog; on a worker
  std::function<const Row*(const std::string& id)> find_open;  // null: none; on the loop
  std::function<bool(const Row& row)> is_over;
  std::function<void(Result<Row>)> then;  // called once, on the loop, later
};

template <typename Row>
class CurrentRowSearch : public std::enable_shared_from_this<CurrentRowSearch<Row>> {
 public:
  explicit CurrentRowSearch(CurrentRow<Row> look) : look_(std::move(look)) {}

  void Begin(const std::string& name) {
    Read(name, [this](Result<Row> row) {
      if (!row.ok() || look_.is_over(*row)) return look_.then(std::move(row));
      if (const Row* open = look_.find_open(row->id)) return look_.then(*open);
      look_.context.catalog.writer().Submit([](Db&) { return OkStatus(); },
                                            [self = this->shared_from_this(), id = row->id](const Status&) {
                                              self->look_.context.loop.Post([self, id] { self->LookAgain(id); });
                                            });
    });
  }

 private:
  void LookAgain(const std::string& id) {
    if (const Row* open = look_.find_open(id)) return look_.then(*open);
    Read(id, [this](Result<Row> row) { look_.then(std::move(row)); });
  }

  // `then` is called on the loop, and may use this.
  template <typename Then>
  void Read(const std::string& name, Then then) {
    auto job = [self = this->shared_from_this(), name, then] {
      self->look_.context.loop.Post([self, row = self->look_.read(name), then] { then(row); });
    };
    Status submitted = look_.context.workers.Submit(std::move(job));
    if (submitted.ok()) return;
    look_.context.loop.Post(
        [self = this->shared_from_this(), refused = submitted.In(look_.act)] { self->look_.then(refused); });
  }

  const CurrentRow<Row> look_;
};

// Any thread; never blocks.
template <typename Row>
void FindCurrentRow(CurrentRow<Row> look, const std::string& name) {
  std::make_shared<CurrentRowSearch<Row>>(std::move(look))->Begin(name);
}

constexpr const char* kSessionRemedy = "list yours with kprofctl session list";

NamedObjects SessionsSeenBy(Db& db, const Caller& caller) {
  std::optional<uint32_t> uid;
  if (!caller.sees_all()) uid = caller.uid;
  return {.noun = "session",
          .remedy = kSessionRemedy,
          .recent = [&db, uid](int64_t back) { return ReadRecentSessionId(db, back, uid); },
          .starting = [&db, uid](const std::string& prefix) { return FindSessionIds(db, prefix, uid, 2); }};
}

Result<SessionRow> ReadNamed(Db& db, AuditLog& audit, const Caller& caller, const std::string& name, Rpc rpc,
                             const std::string& act) {
  auto look = [&]() -> Result<SessionRow> {
    ASSIGN_OR_RETURN(std::string id, ResolveName(name, SessionsSeenBy(db, caller), act));
    return ReadSession(db, id);
  };
  Result<SessionRow> row = look();
  if (!row.ok()) {
    const Status& failure = row.status();
    if (failure.code() != ErrorCode::kNotFound) return failure.what() == act ? failure : failure.In(act);
    return Fail(ErrorCode::kNotFound, act, "there is no such session", kSessionRemedy);
  }
  if (Status authorized = AuthorizeObject(caller, rpc, {row->uid, false, "session"}, act); !authorized.ok()) {
    RecordRefused(audit, caller, rpc, *row, authorized);
    return authorized;
  }
  return row;
}

}  // namespace

void LookUpSession(const LookupContext& context, const Caller& caller, const std::string& name, Rpc rpc,
                   const std::string& act, std::function<void(Result<SessionRow>)> then) {
  const std::string full_act = ActOn(act, name);
  auto read = [context, caller, rpc, full_act](const std::string& which) -> Result<SessionRow> {
    Result<ReaderPool::Lease> reader = context.catalog.readers().Borrow();
    if (!reader.ok()) return reader.status().In(full_act);
    return ReadNamed(**reader, context.audit, caller, which, rpc, full_act);
  };
  FindCurrentRow<SessionRow>(
      {.context = context,
       .act = full_act,
       .read = read,
       .find_open = [context](const std::string& id) { return context.runs.sessions().FindOpenRow(id); },
       .is_over = [](const SessionRow& row) { return IsOver(row.state); },
       .then = std::move(then)},
      name);
}

namespace {

constexpr const char* kRunRemedy = "list yours with kprofctl runs";

NamedObjects RunsSeenBy(Db& db, const Caller& caller) {
  std::optional<uint32_t> uid;
  if (!caller.sees_all()) uid = caller.uid;
  return {.noun = "run",
          .remedy = kRunRemedy,
          .recent = [&db, uid, asker = caller.uid](int64_t back) { return ReadRecentRunId(db, back, uid, asker); },
          .starting = [&db, uid](const std::string& prefix) { return FindRunIds(db, prefix, uid, 2); }};
}

}  // namespace

Result<RunRow> LookUpStoredRun(Db& db, AuditLog* audit, const Caller& caller, const std::string& name, Rpc rpc,
                               const std::string& act) {
  const std::string full_act = ActOn(act, name);
  auto look = [&]() -> Result<RunRow> {
    ASSIGN_OR_RETURN(std::string id, ResolveName(name, RunsSeenBy(db, caller), full_act));
    return ReadRun(db, id);
  };
  Result<RunRow> row = look();
  if (!row.ok()) {
    const Status& failure = row.status();
    if (failure.code() != ErrorCode::kNotFound) return failure.what() == full_act ? failure : failure.In(full_act);
    return Fail(ErrorCode::kNotFound, full_act, "there is no such run", kRunRemedy);
  }
  if (Status authorized = AuthorizeRun(caller, rpc, *row, full_act); !authorized.ok()) {
    if (audit != nullptr) RecordRefused(*audit, caller, rpc, *row, authorized);
    return authorized;
  }
  return row;
}

void LookUpRun(const LookupContext& context, const Caller& caller, const std::string& name, Rpc rpc,
               const std::string& act, std::function<void(Result<RunRow>)> then) {
  auto read = [context, caller, rpc, act](const std::string& which) -> Result<RunRow> {
    Result<ReaderPool::Lease> reader = context.catalog.readers().Borrow();
    if (!reader.ok()) return reader.status().In(ActOn(act, which));
    return LookUpStoredRun(**reader, &context.audit, caller, which, rpc, act);
  };
  FindCurrentRow<RunRow>({.context = context,
                          .act = ActOn(act, name),
                          .read = read,
                          .find_open = [context](const std::string& id) { return context.runs.FindOpenRow(id); },
                          .is_over = [](const RunRow& row) { return IsTerminal(row.state); },
                          .then = std::move(then)},
                         name);
}

}  // namespace kprof

#include "daemon/rpc/services/list_pages.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/rpc/messages/run_message.h"
#include "daemon/rpc/messages/session_message.h"
#include "daemon/runs/run_id.h"
#include "storage/base/readable_text.h"
#include "storage/catalog/audit_table.h"
#include "storage/catalog/run_list.h"
#include "storage/catalog/session_table.h"

namespace kprof {
namespace {

constexpr int32_t kDefaultAuditPageSize = 50;
constexpr int32_t kMaxAuditPageSize = 1000;

// The id of a page's last entry.
std::optional<int64_t> IdOf(const std::string& token) {
  int64_t id = 0;
  const char* end = token.data() + token.size();
  const std::from_chars_result read = std::from_chars(token.data(), end, id);
  if (read.ec != std::errc() || read.ptr != end || id < 1) return std::nullopt;
  return id;
}

Result<AuditFilter> FilterOf(const v1::ListAuditRequest& request) {
  AuditFilter filter;
  if (request.page_size() < 0) return Fail(ErrorCode::kUsage, "list the audit", "the page size is negative");
  filter.limit = request.page_size() == 0 ? kDefaultAuditPageSize : std::min(request.page_size(), kMaxAuditPageSize);
  if (request.has_uid()) filter.uid = request.uid();
  filter.since_ns = request.since_unix_ns();
  if (request.page_token().empty()) return filter;
  filter.before_id = IdOf(request.page_token());
  if (!filter.before_id) {
    return Fail(ErrorCode::kUsage, "list the audit", "the page token is not one of this daemon's",
                "begin again without a token");
  }
  return filter;
}

void FillAuditEntry(const AuditEntry& entry, v1::AuditEntry& out) {
  out.set_id(entry.id);
  out.set_time_unix_ns(entry.time_ns);
  out.set_uid(entry.by.uid);
  out.set_caller(ReadableText(entry.by.caller));
  out.set_action(entry.action);
  out.set_run_id(entry.run_id);
  out.set_session_id(entry.session_id);
  for (const std::string& device : entry.devices) out.add_devices(ReadableText(device));
  out.set_outcome(entry.outcome);
  out.set_detail(ReadableText(entry.detail));
}

}  // namespace

Status ReadAuditPage(Catalog& catalog, const v1::ListAuditRequest& request, v1::ListAuditResponse& page) {
  ASSIGN_OR_RETURN(AuditFilter filter, FilterOf(request));
  ASSIGN_OR_RETURN(ReaderPool::Lease reader, catalog.readers().Borrow());
  ASSIGN_OR_RETURN(std::vector<AuditEntry> entries, ReadAudit(*reader, filter));
  for (const AuditEntry& entry : entries) FillAuditEntry(entry, *page.add_entries());
  if (static_cast<int64_t>(entries.size()) == filter.limit) page.set_next_page_token(std::to_string(entries.back().id));
  return OkStatus();
}

namespace {

constexpr int32_t kDefaultSessionPageSize = 50;
constexpr int32_t kMaxSessionPageSize = 1000;
constexpr int64_t kPortion = 50;
constexpr size_t kSessionPageBytes = 1 << 20;

Result<int64_t> PageSize(int32_t asked, const char* act) {
  if (asked < 0) return Fail(ErrorCode::kUsage, act, "the page size is negative");
  return asked == 0 ? kDefaultSessionPageSize : std::min(asked, kMaxSessionPageSize);
}

Status BadToken(const char* act) {
  return Fail(ErrorCode::kUsage, act, "the page token is not one of this daemon's", "begin again without a token");
}

// From the catalog alone. `page` is empty before; on a worker.
Status ReadSessionPage(const ServiceContext& context, const Caller& caller, const v1::ListSessionsRequest& request,
                       v1::ListSessionsResponse& page) {
  constexpr const char* kAct = "list sessions";
  SessionFilter filter;
  if (!caller.sees_all()) filter.uid = caller.uid;
  ASSIGN_OR_RETURN(int64_t left, PageSize(request.page_size(), kAct));
  filter.labels.assign(request.labels().begin(), request.labels().end());
  for (int state : request.states()) {
    if (!v1::SessionState_IsValid(state) || state == v1::SESSION_STATE_UNSPECIFIED) {
      return Fail(ErrorCode::kUsage, kAct, "state " + std::to_string(state) + " is not known to this kprofd",
                  "update kprofd, or leave the state out");
    }
    filter.states.push_back(FromWire(static_cast<v1::SessionState>(state)));
  }
  // In which of these one may still be in the catalog whose end, or present state, could not be stored.
  if (!filter.states.empty()) {
    filter.states.insert(filter.states.end(), {SessionState::kQueued, SessionState::kOpen, SessionState::kClosing});
  }
  if (!request.page_token().empty() && !LooksLikeRunId(request.page_token())) return BadToken(kAct);
  filter.before_id = request.page_token();
  ASSIGN_OR_RETURN(ReaderPool::Lease reader, context.catalog.readers().Borrow());
  size_t page_bytes = 0;
  while (left > 0 && page_bytes < kSessionPageBytes) {
    filter.limit = std::min(left, kPortion);
    ASSIGN_OR_RETURN(std::vector<SessionRow> rows, ListSessions(*reader, filter));
    for (const SessionRow& row : rows) {
      FillSession(row, *page.add_sessions());
      page_bytes += page.sessions(page.sessions_size() - 1).ByteSizeLong();
      filter.before_id = row.id;
    }
    if (static_cast<int64_t>(rows.size()) < filter.limit) return OkStatus();  // that was the last
    left -= filter.limit;
  }
  page.set_next_page_token(filter.before_id);
  return OkStatus();
}

Status ReadRoundPage(const ServiceContext& context, const std::string& session_id, const v1::ListRoundsRequest& request,
                     v1::ListRoundsResponse& page) {
  constexpr const char* kAct = "list rounds";
  ASSIGN_OR_RETURN(int64_t left, PageSize(request.page_size(), kAct));
  int64_t after = 0;
  if (const std::string& token = request.page_token(); !token.empty()) {
    auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), after);
    if (error != std::errc() || end != token.data() + token.size() || after < 0) return BadToken(kAct);
  }
  ASSIGN_OR_RETURN(ReaderPool::Lease reader, context.catalog.readers().Borrow());
  size_t page_bytes = 0;
  while (left > 0 && page_bytes < kSessionPageBytes) {
    const int64_t portion = std::min(left, kPortion);
    ASSIGN_OR_RETURN(std::vector<RunRow> runs, ListRounds(*reader, session_id, after, portion));
    for (const RunRow& run : runs) {
      FillRound(run, *page.add_rounds());
      page_bytes += page.rounds(page.rounds_size() - 1).ByteSizeLong();
      after = run.round.value_or(after);
    }
    if (static_cast<int64_t>(runs.size()) < portion) return OkStatus();  // that was the last
    left -= portion;
  }
  page.set_next_page_token(std::to_string(after));
  return OkStatus();
}

// Sessions that are open become what they are; then those go that were read only because they might have.
void Overlay(const Sessions& open, const v1::ListSessionsRequest& request, v1::ListSessionsResponse& page) {
  for (v1::Session& session : *page.mutable_sessions()) {
    const SessionRow* row = open.FindOpenRow(session.id());
    if (row == nullptr) continue;
    session.Clear();
    FillSession(*row, session);
  }
  if (request.states().empty()) return;
  auto unwanted = [&](const v1::Session& session) {
    return std::find(request.states().begin(), request.states().end(), session.state()) == request.states().end();
  };
  page.mutable_sessions()->erase(
      std::remove_if(page.mutable_sessions()->begin(), page.mutable_sessions()->end(), unwanted),
      page.mutable_sessions()->end());
}

void Overlay(const Runs& open, v1::ListRoundsResponse& page) {
  for (v1::Round& round : *page.mutable_rounds()) {
    const RunRow* row = open.FindOpenRow(round.run_id());
    if (row == nullptr) continue;
    round.Clear();
    FillRound(*row, round);
  }
}

// `read` on a worker, then `overlay` on the loop, then the end.
void Answer(const ServiceContext& context, UnaryCall& call, std::function<Status()> read,
            std::function<void()> overlay) {
  Status submitted = context.workers.Submit([&context, &call, read = std::move(read), overlay = std::move(overlay)] {
    Status done = read();
    if (!done.ok()) return call.End(done);
    context.loop.Post([&call, overlay] {
      overlay();
      call.End(OkStatus());
    });
  });
  if (!submitted.ok()) call.End(submitted);
}

}  // namespace

void AnswerSessionPage(const ServiceContext& context, const Caller& caller, const v1::ListSessionsRequest& request,
                       v1::ListSessionsResponse& page, UnaryCall& call) {
  Answer(
      context, call, [&context, caller, &request, &page] { return ReadSessionPage(context, caller, request, page); },
      [&context, &request, &page] { Overlay(context.runs.sessions(), request, page); });
}

void AnswerRoundPage(const ServiceContext& context, const std::string& session_id, const v1::ListRoundsRequest& request,
                     v1::ListRoundsResponse& page, UnaryCall& call) {
  Answer(
      context, call,
      [&context, session_id, &request, &page] { return ReadRoundPage(context, session_id, request, page); },
      [&context, &page] { Overlay(context.runs, page); });
}

namespace {

constexpr int32_t kDefaultRunPageSize = 50;
constexpr int32_t kMaxRunPageSize = 1000;
constexpr int64_t kPortionRuns = 50;
constexpr size_t kRunPageBytes = 1 << 20;

// In which of these a run may still be in the catalog whose end could not be stored yet (a full disk). So may a queued
// one, but of those there may be ten thousand, and whoever asks for ended runs would have them all read.
constexpr RunState kStatesOfUnstoredEnds[] = {RunState::kPreparing, RunState::kRunning, RunState::kCollecting};

Result<RunFilter> FilterOf(const Caller& caller, const v1::ListRunsRequest& request) {
  RunFilter filter;
  if (!caller.sees_all()) filter.uid = caller.uid;
  if (request.page_size() < 0) return Fail(ErrorCode::kUsage, "list runs", "the page size is negative");
  filter.limit = request.page_size() == 0 ? kDefaultRunPageSize : std::min(request.page_size(), kMaxRunPageSize);
  filter.labels.assign(request.labels().begin(), request.labels().end());
  filter.tools.assign(request.tools().begin(), request.tools().end());
  for (int state : request.states()) {
    if (!v1::RunState_IsValid(state) || state == v1::RUN_STATE_UNSPECIFIED) {
      return Fail(ErrorCode::kUsage, "list runs", "state " + std::to_string(state) + " is not known to this kprofd",
                  "update kprofd, or leave the state out");
    }
    filter.states.push_back(FromWire(static_cast<v1::RunState>(state)));
  }
  if (std::any_of(filter.states.begin(), filter.states.end(), IsTerminal)) {
    filter.states.insert(filter.states.end(), std::begin(kStatesOfUnstoredEnds), std::end(kStatesOfUnstoredEnds));
  }
  if (!request.page_token().empty() && !LooksLikeRunId(request.page_token())) {
    return Fail(ErrorCode::kUsage, "list runs", "the page token is not one of this daemon's",
                "begin again without a token");
  }
  filter.before_id = request.page_token();
  return filter;
}

// Up to the page's size, and no further than a message can carry: command lines may be long. Read in small portions,
// so that what is not sent is hardly read.
Status ReadPage(Db& db, RunFilter filter, v1::ListRunsResponse& page) {
  int64_t left = filter.limit;
  size_t page_bytes = 0;
  while (left > 0) {
    filter.limit = std::min(left, kPortionRuns);
    ASSIGN_OR_RETURN(std::vector<RunRow> rows, ListRuns(db, filter));
    for (const RunRow& row : rows) {
      FillRun(row, *page.add_runs());
      page_bytes += page.runs(page.runs_size() - 1).ByteSizeLong();
      filter.before_id = row.id;
      if (page_bytes >= kRunPageBytes) break;
    }
    left -= static_cast<int64_t>(rows.size());
    if (page_bytes >= kRunPageBytes) break;
    if (static_cast<int64_t>(rows.size()) < filter.limit) return OkStatus();  // that was the last
  }
  page.set_next_page_token(filter.before_id);
  return OkStatus();
}

Status ReadStored(const ServiceContext& context, const Caller& caller, const v1::ListRunsRequest& request,
                  v1::ListRunsResponse& page) {
  ASSIGN_OR_RETURN(RunFilter filter, FilterOf(caller, request));
  ASSIGN_OR_RETURN(ReaderPool::Lease reader, context.catalog.readers().Borrow());
  return ReadPage(*reader, std::move(filter), page);
}

// Which of some runs, open in the catalog, have ended as far as Runs knows. Io loop, a few at a time.
struct EndSearch {
  std::vector<std::string> ids;
  std::function<void(std::vector<RunRow>)> then;
  size_t next = 0;
  std::vector<RunRow> ended;
};
void GoOn(const ServiceContext& context, const std::shared_ptr<EndSearch>& search) {
  const size_t end = std::min(search->next + static_cast<size_t>(kPortionRuns), search->ids.size());
  for (; search->next < end; ++search->next) {
    const RunRow* open = context.runs.FindOpenRow(search->ids[search->next]);
    if (open != nullptr && IsTerminal(open->state)) search->ended.push_back(*open);
  }
  if (end == search->ids.size()) return search->then(std::move(search->ended));
  context.loop.Post([&context, search] { GoOn(context, search); });
}

// Runs that have ended become what they are; then those go that were read only because they might have.
void OverlayEnds(const std::vector<RunRow>& ended, const v1::ListRunsRequest& request, v1::ListRunsResponse& page) {
  for (v1::Run& run : *page.mutable_runs()) {
    auto found = std::find_if(ended.begin(), ended.end(), [&](const RunRow& row) { return row.id == run.id(); });
    if (found == ended.end()) continue;
    run.Clear();
    FillRun(*found, run);
  }
  if (request.states().empty()) return;
  auto unwanted = [&](const v1::Run& run) {
    return std::find(request.states().begin(), request.states().end(), run.state()) == request.states().end();
  };
  page.mutable_runs()->erase(std::remove_if(page.mutable_runs()->begin(), page.mutable_runs()->end(), unwanted),
                             page.mutable_runs()->end());
}

// One call: its request, its page on the way, and what to do with it. Shared by whatever works on it next.
class PageCall : public std::enable_shared_from_this<PageCall> {
 public:
  PageCall(const ServiceContext& context, const Caller& caller, grpc::ByteBuffer& response, UnaryCall& call)
      : context_(context),
        caller_(caller),
        stamp_(context.catalog.changes().count()),
        response_(response),
        call_(call) {}

  bool Parse(const grpc::ByteBuffer& request) {
    std::vector<grpc::Slice> slices;
    if (!request.Dump(&slices).ok()) return false;
    std::string bytes;
    for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    key_ = "runs " + (caller_.sees_all() ? "*" : std::to_string(caller_.uid)) + " " + bytes;
    return request_.ParseFromString(bytes);
  }

  void Begin() {
    if (IsKnown()) return call_.End(OkStatus());
    OnWorker([self = shared_from_this()] { self->Read(); });
  }

 private:
  bool IsKnown() {
    std::optional<grpc::ByteBuffer> known = context_.answers.Find(key_, stamp_);
    if (known) response_ = *known;
    return known.has_value();
  }

  void OnWorker(std::function<void()> work) {
    Status submitted = context_.workers.Submit(std::move(work));
    if (!submitted.ok()) call_.End(submitted);
  }

  void Read() {
    if (IsKnown()) return call_.End(OkStatus());  // by now: others had asked the same
    Status stored = ReadStored(context_, caller_, request_, page_);
    if (!stored.ok()) return call_.End(stored);
    auto search = std::make_shared<EndSearch>();  // shared: std::function copies
    for (const v1::Run& run : page_.runs()) {
      if (!IsTerminal(FromWire(run.state()))) search->ids.push_back(run.id());
    }
    if (search->ids.empty()) return Answer();
    search->then = [self = shared_from_this()](std::vector<RunRow> ended) {
      self->OnWorker([self, ended = std::move(ended)] {
        OverlayEnds(ended, self->request_, self->page_);
        self->Answer();
      });
    };
    context_.loop.Post([this, self = shared_from_this(), search] { GoOn(context_, search); });
  }

  void Answer() {
    response_ = BytesOf(page_);
    context_.answers.Put(key_, stamp_, response_);
    call_.End(OkStatus());
  }

  const ServiceContext& context_;
  const Caller caller_;
  const uint64_t stamp_;
  grpc::ByteBuffer& response_;
  UnaryCall& call_;
  std::string key_;
  v1::ListRunsRequest request_;
  v1::ListRunsResponse page_;
};

}  // namespace

void AnswerRunPage(const ServiceContext& context, const Caller& caller, const grpc::ByteBuffer& request,
                   grpc::ByteBuffer& response, UnaryCall& call) {
  auto page = std::make_shared<PageCall>(context, caller, response, call);
  if (!page->Parse(request)) return call.End(Fail(ErrorCode::kUsage, "list runs", "the request is no ListRunsRequest"));
  page->Begin();
}

}  // namespace kprof

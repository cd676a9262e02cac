#include "daemon/rpc/services/session_pages.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/rpc/messages/session_message.h"
#include "daemon/runs/run_id.h"
#include "storage/catalog/session_list.h"

namespace kprof {
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
Status ReadSessionPage(const ServiceContext& parts, const Caller& caller, const v1::ListSessionsRequest& request,
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
  ASSIGN_OR_RETURN(ReaderPool::Lease reader, parts.catalog.readers().Borrow());
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

Status ReadRoundPage(const ServiceContext& parts, const std::string& session_id, const v1::ListRoundsRequest& request,
                     v1::ListRoundsResponse& page) {
  constexpr const char* kAct = "list rounds";
  ASSIGN_OR_RETURN(int64_t left, PageSize(request.page_size(), kAct));
  int64_t after = 0;
  if (const std::string& token = request.page_token(); !token.empty()) {
    auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), after);
    if (error != std::errc() || end != token.data() + token.size() || after < 0) return BadToken(kAct);
  }
  ASSIGN_OR_RETURN(ReaderPool::Lease reader, parts.catalog.readers().Borrow());
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
void Answer(const ServiceContext& parts, UnaryCall& call, std::function<Status()> read, std::function<void()> overlay) {
  Status submitted = parts.workers.Submit([&parts, &call, read = std::move(read), overlay = std::move(overlay)] {
    Status done = read();
    if (!done.ok()) return call.End(done);
    parts.loop.Post([&call, overlay] {
      overlay();
      call.End(OkStatus());
    });
  });
  if (!submitted.ok()) call.End(submitted);
}

}  // namespace

void AnswerSessionPage(const ServiceContext& parts, const Caller& caller, const v1::ListSessionsRequest& request,
                       v1::ListSessionsResponse& page, UnaryCall& call) {
  Answer(
      parts, call, [&parts, caller, &request, &page] { return ReadSessionPage(parts, caller, request, page); },
      [&parts, &request, &page] { Overlay(parts.runs.sessions(), request, page); });
}

void AnswerRoundPage(const ServiceContext& parts, const std::string& session_id, const v1::ListRoundsRequest& request,
                     v1::ListRoundsResponse& page, UnaryCall& call) {
  Answer(
      parts, call, [&parts, session_id, &request, &page] { return ReadRoundPage(parts, session_id, request, page); },
      [&parts, &page] { Overlay(parts.runs, page); });
}

}  // namespace kprof

#include "daemon/rpc/session_pages.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "daemon/rpc/session_message.h"
#include "daemon/runs/run_id.h"
#include "storage/catalog/session_list.h"

namespace kprof {
namespace {

constexpr int32_t kDefaultPageSize = 50;
constexpr int32_t kMaxPageSize = 1000;
constexpr int64_t kPortion = 50;
constexpr size_t kPageBytes = 1 << 20;

Result<int64_t> PageSize(int32_t asked, const char* act) {
  if (asked < 0) return Fail(ErrorCode::kUsage, act, "the page size is negative");
  return asked == 0 ? kDefaultPageSize : std::min(asked, kMaxPageSize);
}

Status BadToken(const char* act) {
  return Fail(ErrorCode::kUsage, act, "the page token is not one of this daemon's", "begin again without a token");
}

}  // namespace

Status ReadSessionPage(const RpcParts& parts, const Caller& caller, const v1::ListSessionsRequest& request,
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
  if (!request.page_token().empty() && !LooksLikeRunId(request.page_token())) return BadToken(kAct);
  filter.before_id = request.page_token();
  ASSIGN_OR_RETURN(ReaderPool::Lease reader, parts.catalog.readers().Borrow());
  size_t page_bytes = 0;
  while (left > 0 && page_bytes < kPageBytes) {
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

Status ReadRoundPage(const RpcParts& parts, const std::string& session_id, const v1::ListRoundsRequest& request,
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
  while (left > 0 && page_bytes < kPageBytes) {
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

}  // namespace kprof

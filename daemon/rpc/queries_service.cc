#include "daemon/rpc/queries_service.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "daemon/rpc/audited_calls.h"
#include "daemon/rpc/object_names.h"
#include "daemon/rpc/pull_stream.h"
#include "daemon/rpc/run_lookup.h"
#include "daemon/rpc/run_traces.h"
#include "storage/base/readable_text.h"
#include "storage/sandbox/user_query.h"
#include "storage/trace_sql/query_traces.h"

namespace kprof {
namespace {

constexpr int64_t kMaxTimeoutMs = 600'000;
constexpr int64_t kMaxRows = 10'000'000;
constexpr int kMostRuns = 256;
constexpr int64_t kShortMs = 250;           // of work; beyond that a query needs one of the places for long ones
constexpr int64_t kLongestWaitMs = 10'000;  // for a thread, or for such a place

void AddValue(const SqlValue& value, v1::ColumnData& column) {
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    column.add_kinds(v1::ColumnData::KIND_INTEGER);
    column.add_integers(*integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    column.add_kinds(v1::ColumnData::KIND_REAL);
    column.add_reals(*real);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    column.add_kinds(v1::ColumnData::KIND_TEXT);
    column.add_texts(*text);
  } else if (const auto* blob = std::get_if<SqlBytes>(&value)) {
    column.add_kinds(v1::ColumnData::KIND_BYTES);
    column.add_blobs(blob->bytes);
  } else {
    column.add_kinds(v1::ColumnData::KIND_UNSPECIFIED);
  }
}

Status OverLimit(const std::string& field, int64_t asked, int64_t limit) {
  return Fail(ErrorCode::kUsage, "query",
              field + " is " + std::to_string(asked) + ", over its limit of " + std::to_string(limit),
              "ask for no more than that");
}

// A query that has worked for kShortMs holds a place among the long ones while it works; there are fewer of these than
// threads, so that short queries always find one. Without a place it waits, for a while: between two batches as it is,
// before its first one by beginning anew when there is a place.
class QuerySource final : public PullSource<v1::QueryResponse> {
 public:
  QuerySource(const RpcParts& parts, const Caller& caller, const v1::QueryRequest& request)
      : parts_(parts), caller_(caller), request_(request), waits_since_ns_(parts.clock.mono_ns()) {}

  Result<Pulled> Next(v1::QueryResponse& message, std::stop_token stop) override {
    if (ended_) return Pulled::kEnd;
    RETURN_IF_ERROR(ReadLimits());
    RETURN_IF_ERROR(CheckWait());
    if (is_long_ && !TakePlace()) return Wait();
    waits_since_ns_.reset();
    Result<Pulled> pulled = NextPart(message, stop);
    place_.reset();
    if (pulled.ok() || !std::exchange(crowded_out_, false) || has_rows_) return pulled;
    query_.reset();
    return Wait();
  }

 private:
  Status ReadLimits() {
    if (request_.timeout_ms() < 0 || request_.row_limit() < 0) {
      return Fail(ErrorCode::kUsage, "query", "a limit is negative", "leave it out for the default");
    }
    if (request_.timeout_ms() > kMaxTimeoutMs) return OverLimit("timeout_ms", request_.timeout_ms(), kMaxTimeoutMs);
    if (request_.runs_size() > kMostRuns) return OverLimit("the number of runs", request_.runs_size(), kMostRuns);
    if (request_.row_limit() > kMaxRows) return OverLimit("row_limit", request_.row_limit(), kMaxRows);
    if (request_.timeout_ms() > 0) limits_.timeout_ms = request_.timeout_ms();
    if (request_.row_limit() > 0) limits_.row_limit = request_.row_limit();
    return OkStatus();
  }

  Status CheckWait() const {
    const int64_t longest_ms = std::min(limits_.timeout_ms, kLongestWaitMs);
    if (!waits_since_ns_ || parts_.clock.mono_ns() - *waits_since_ns_ < longest_ms * kNanosPerMilli) return OkStatus();
    return Fail(ErrorCode::kQueueFull, "query",
                "too many queries are running; it waited " + std::to_string(longest_ms) + " ms for its turn",
                "try again in a moment");
  }
  Result<Pulled> Wait() {
    if (!waits_since_ns_) waits_since_ns_ = parts_.clock.mono_ns();
    return Pulled::kNothingYet;
  }
  bool TakePlace() {
    Result<Places::Place> place = parts_.limits.long_queries.Take(caller_.account(), "query", "long queries");
    if (place.ok()) place_.emplace(std::move(*place));
    return place.ok();
  }

  // Once: @last moves on while a query waits for its turn.
  Status FindTraces() {
    if (std::exchange(knows_traces_, true)) return OkStatus();
    std::vector<std::string> ids;
    for (const std::string& name : request_.runs()) {
      const std::string act = "query run";
      Result<ReaderPool::Lease> reader = parts_.catalog.readers().Borrow();
      if (!reader.ok()) return reader.status().In(ActOn(act, name));
      ASSIGN_OR_RETURN(const RunRow run,
                       LookUpStoredRun(**reader, &parts_.audit, caller_, name, Rpc::kQueryTrace, act));
      if (std::find(ids.begin(), ids.end(), run.id) != ids.end()) continue;
      ids.push_back(run.id);
      ASSIGN_OR_RETURN(const std::vector<TracePlace> places, FindTrace(parts_.catalog.layout(), run, ActOn(act, name)));
      traces_.insert(traces_.end(), places.begin(), places.end());
    }
    return OkStatus();
  }

  Status Open(std::stop_token stop) {
    RETURN_IF_ERROR(FindTraces());
    if (!is_long_) {
      limits_.long_work = {kShortMs, [this] {
                             is_long_ = true;
                             crowded_out_ = !TakePlace();
                             return !crowded_out_;
                           }};
    } else {
      limits_.long_work = {};  // it has a place
    }
    Viewer viewer{caller_.uid, caller_.sees_all(), caller_.role >= RuleOf(Rpc::kListAudit).least};
    std::unique_ptr<GuestTables> traces;
    if (!traces_.empty()) {
      traces = std::make_unique<QueryTraces>(traces_, parts_.trace_parts, &parts_.trace_functions);
    }
    Result<std::unique_ptr<UserQuery>> opened = UserQuery::Open(parts_.catalog.layout().CatalogPath(), viewer,
                                                                request_.sql(), limits_, stop, std::move(traces));
    RecordIfRefused(parts_.audit, caller_, Rpc::kQuery, opened.status());
    ASSIGN_OR_RETURN(query_, std::move(opened));
    return OkStatus();
  }

  Result<Pulled> NextPart(v1::QueryResponse& message, std::stop_token stop) {
    if (!query_) RETURN_IF_ERROR(Open(stop));
    if (!std::exchange(has_header_, true)) {
      for (const std::string& name : query_->column_names()) {
        message.mutable_header()->add_columns()->set_name(ReadableText(name));
      }
      message.mutable_header();
      return Pulled::kMessage;
    }
    ASSIGN_OR_RETURN(std::optional<RowBatch> batch, query_->NextBatch());
    if (batch) {
      has_rows_ = true;
      message.mutable_batch()->set_rows(static_cast<int32_t>(batch->rows));
      for (const std::vector<SqlValue>& values : batch->columns) {
        v1::ColumnData& column = *message.mutable_batch()->add_columns();
        for (const SqlValue& value : values) AddValue(value, column);
      }
      return Pulled::kMessage;
    }
    ended_ = true;
    message.mutable_totals()->set_rows(query_->rows());
    message.mutable_totals()->set_truncated(query_->truncated());
    message.mutable_totals()->set_elapsed_ms(query_->elapsed_ms());
    return Pulled::kMessage;
  }

  const RpcParts& parts_;
  const Caller caller_;
  const v1::QueryRequest request_;
  QueryLimits limits_;
  std::vector<TracePlace> traces_;  // of the runs that it names
  bool knows_traces_ = false;
  std::unique_ptr<UserQuery> query_;
  std::optional<int64_t> waits_since_ns_;
  std::optional<Places::Place> place_;  // while it works long
  bool is_long_ = false;
  bool crowded_out_ = false;  // it was ended for want of a place
  bool has_header_ = false;
  bool has_rows_ = false;
  bool ended_ = false;
};

}  // namespace

grpc::ServerWriteReactor<v1::QueryResponse>* QueriesServiceImpl::Query(grpc::CallbackServerContext* context,
                                                                       const v1::QueryRequest* request) {
  CallRecord record(desk_, Rpc::kQuery);
  if (!record.admission().ok()) return new RefusedStream<v1::QueryResponse>(std::move(record));
  auto source = std::make_unique<QuerySource>(parts_, record.caller(), *request);
  // A query holds a read transaction, which keeps the catalog's WAL from shrinking: one that nobody reads is given up.
  return new PullStream<v1::QueryResponse>(std::move(record), parts_.loop, parts_.queries, std::move(source), context);
}

}  // namespace kprof

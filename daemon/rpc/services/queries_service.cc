#include "daemon/rpc/services/queries_service.h"

#include <optional>
#include <utility>

#include "daemon/rpc/messages/column_message.h"
#include "daemon/rpc/streams/pull_stream.h"
#include "daemon/rpc/streams/trace_question.h"
#include "daemon/runs/audit/audited_calls.h"
#include "storage/base/readable_text.h"
#include "storage/sandbox/user_query.h"
#include "storage/trace_sql/attach/query_traces.h"

namespace kprof {
namespace {

constexpr int64_t kMaxRows = 10'000'000;

class QuerySource final : public PullSource<v1::QueryResponse> {
 public:
  QuerySource(const ServiceContext& context, const Caller& caller, const v1::QueryRequest& request)
      : context_(context), caller_(caller), request_(request), question_(context, caller, "query") {}

  Result<Pulled> Next(v1::QueryResponse& message, std::stop_token stop) override {
    if (ended_) return Pulled::kEnd;
    RETURN_IF_ERROR(ReadLimits());
    ASSIGN_OR_RETURN(const bool is_its_turn, question_.BeginTurn(limits_.timeout_ms));
    if (!is_its_turn) return Pulled::kNothingYet;
    Result<Pulled> pulled = NextPart(message, stop);
    const bool is_crowded_out = question_.EndTurn();
    if (pulled.ok() || !is_crowded_out || has_rows_) return pulled;
    query_.reset();
    question_.Wait();
    return Pulled::kNothingYet;
  }

 private:
  Status ReadLimits() {
    RETURN_IF_ERROR(question_.CheckLimits(request_.timeout_ms(), request_.runs_size()));
    if (request_.row_limit() < 0) {
      return Fail(ErrorCode::kUsage, "query", "a limit is negative", "leave it out for the default");
    }
    if (request_.row_limit() > kMaxRows) {
      return TraceQuestion::OverLimit("query", "row_limit", request_.row_limit(), kMaxRows);
    }
    if (request_.timeout_ms() > 0) limits_.timeout_ms = request_.timeout_ms();
    if (request_.row_limit() > 0) limits_.row_limit = request_.row_limit();
    return OkStatus();
  }

  Status Open(std::stop_token stop) {
    RETURN_IF_ERROR(question_.FindRuns(request_.runs(), Rpc::kQueryTrace, TraceQuestion::WithoutTrace::kTaken));
    limits_.long_work = question_.LongWorkOfTurn();
    Viewer viewer{caller_.uid, caller_.sees_all(), caller_.role >= RuleOf(Rpc::kListAudit).least};
    std::unique_ptr<GuestTables> traces;
    if (!question_.runs().empty()) {
      std::vector<std::string> runs;
      for (const RunRow& run : question_.runs()) runs.push_back(run.id);
      traces = std::make_unique<QueryTraces>(question_.places(), context_.trace_parts, &context_.trace_functions,
                                             std::move(runs));
    }
    Result<std::unique_ptr<UserQuery>> opened = UserQuery::Open(context_.catalog.layout().CatalogPath(), viewer,
                                                                request_.sql(), limits_, stop, std::move(traces));
    RecordIfRefused(context_.audit, caller_, Rpc::kQuery, opened.status());
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
        for (const SqlValue& value : values) AddColumnValue(value, column);
      }
      return Pulled::kMessage;
    }
    ended_ = true;
    message.mutable_totals()->set_rows(query_->rows());
    message.mutable_totals()->set_truncated(query_->truncated());
    message.mutable_totals()->set_elapsed_ms(query_->elapsed_ms());
    return Pulled::kMessage;
  }

  const ServiceContext& context_;
  const Caller caller_;
  const v1::QueryRequest request_;
  QueryLimits limits_;
  TraceQuestion question_;
  std::unique_ptr<UserQuery> query_;
  bool has_header_ = false;
  bool has_rows_ = false;
  bool ended_ = false;
};

}  // namespace

grpc::ServerWriteReactor<v1::QueryResponse>* QueriesServiceImpl::Query(grpc::CallbackServerContext* context,
                                                                       const v1::QueryRequest* request) {
  CallRecord record(admission_, Rpc::kQuery);
  if (!record.admitted().ok()) return new RefusedStream<v1::QueryResponse>(std::move(record));
  auto source = std::make_unique<QuerySource>(context_, record.caller(), *request);
  // A query holds a read transaction, which keeps the catalog's WAL from shrinking: one that nobody reads is given up.
  return new PullStream<v1::QueryResponse>(std::move(record), context_.loop, context_.queries, std::move(source),
                                           context);
}

}  // namespace kprof

#include "daemon/rpc/queries_service.h"

#include "daemon/rpc/pull_stream.h"
#include "storage/base/readable_text.h"
#include "storage/sandbox/user_query.h"

namespace kprof {
namespace {

constexpr int64_t kMaxTimeoutMs = 600'000;
constexpr int64_t kMaxRows = 10'000'000;

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

class QuerySource final : public PullSource<v1::QueryResponse> {
 public:
  QuerySource(const RpcParts& parts, const Caller& caller, const v1::QueryRequest& request)
      : parts_(parts), caller_(caller), request_(request) {}

  Result<Pulled> Next(v1::QueryResponse& message, std::stop_token stop) override {
    if (ended_) return Pulled::kEnd;
    if (!query_) {
      RETURN_IF_ERROR(Open(stop));
      for (const std::string& name : query_->column_names()) {
        message.mutable_header()->add_columns()->set_name(ReadableText(name));
      }
      message.mutable_header();
      return Pulled::kMessage;
    }
    ASSIGN_OR_RETURN(std::optional<RowBatch> batch, query_->NextBatch());
    if (batch) {
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

 private:
  Status Open(std::stop_token stop) {
    QueryLimits limits;
    if (request_.timeout_ms() < 0 || request_.row_limit() < 0) {
      return Fail(ErrorCode::kUsage, "query", "a limit is negative", "leave it out for the default");
    }
    if (request_.timeout_ms() > 0) limits.timeout_ms = std::min(request_.timeout_ms(), kMaxTimeoutMs);
    if (request_.row_limit() > 0) limits.row_limit = std::min(request_.row_limit(), kMaxRows);
    Viewer viewer{caller_.uid, caller_.is_operator};
    ASSIGN_OR_RETURN(query_,
                     UserQuery::Open(parts_.catalog.layout().CatalogPath(), viewer, request_.sql(), limits, stop));
    return OkStatus();
  }

  const RpcParts& parts_;
  const Caller caller_;
  const v1::QueryRequest request_;
  std::unique_ptr<UserQuery> query_;
  bool ended_ = false;
};

}  // namespace

grpc::ServerWriteReactor<v1::QueryResponse>* QueriesServiceImpl::Query(grpc::CallbackServerContext* context,
                                                                       const v1::QueryRequest* request) {
  // A query holds a read transaction, which keeps the catalog's WAL from shrinking: one that nobody reads is given up.
  return new PullStream<v1::QueryResponse>(parts_.loop, parts_.queries,
                                           std::make_unique<QuerySource>(parts_, caller_, *request), context);
}

}  // namespace kprof

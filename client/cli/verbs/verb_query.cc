#include "client/cli/local_file.h"
#include "client/cli/text/rows.h"
#include "client/cli/verbs/verbs.h"
#include "storage/base/readable_text.h"

namespace kprof::cli {
namespace {

// The daemon takes 100,000; a little more lets it be the one to say so.
constexpr size_t kSqlLimitBytes = 200'000;

Result<std::string> ReadSql(const std::string& given) {
  bool from_file = given == "-" || given.starts_with('@');
  if (!from_file) return given;
  ASSIGN_OR_RETURN(std::string sql, ReadAll(given == "-" ? given : given.substr(1), kSqlLimitBytes));
  if (!IsUtf8(sql)) return Fail(ErrorCode::kUsage, "read the SQL", "it is not UTF-8", "write it in UTF-8");
  return sql;
}

// No rows come also where there is no trace to ask.
void NoteRunsWithoutTrace(const QueryArgs& args, KprofClient& client, Output& output) {
  for (const std::string& name : args.runs) {
    const Result<v1::GetRunResponse> got = client.GetRun(name);
    if (!got.ok() || got->run().has_trace()) continue;
    output.Note("run " + got->run().id() + " has no trace: its tables are empty");
  }
}

}  // namespace

Status RunVerb(const QueryArgs& args, const VerbContext& context) {
  v1::QueryRequest request;
  ASSIGN_OR_RETURN(*request.mutable_sql(), ReadSql(args.sql));
  request.set_timeout_ms(args.timeout_ms);
  request.set_row_limit(args.limit);
  for (const std::string& run : args.runs) request.add_runs(run);
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  Output& output = context.output;
  RowFormat by_default = context.global.json ? RowFormat::kJson : RowFormat::kTable;
  std::unique_ptr<RowWriter> writer = MakeRowWriter(args.format.value_or(by_default), output, args.wide);
  RowStream rows(*writer);
  Status status = client->Query(request, [&](const v1::QueryResponse& message) {
    RETURN_IF_ERROR(rows.Add(message));
    return output.CheckTakesMore();
  });
  if (output.broken()) return OkStatus();  // Flush tells whether that is a failure
  if (status.ok() && !rows.totals()) {
    status = Fail(ErrorCode::kInternal, "run the query", "kprofd ended the rows without their totals");
  }
  if (!status.ok()) {
    rows.Abort(status);
    return status;
  }
  if (rows.totals()->rows() == 0 && !args.runs.empty()) {
    (void)output.Flush();
    NoteRunsWithoutTrace(args, *client, output);
  }
  if (rows.totals()->truncated()) {
    (void)output.Flush();
    output.Note("cut off after " + std::to_string(rows.totals()->rows()) + " rows; --limit allows more");
  }
  return OkStatus();
}

}  // namespace kprof::cli

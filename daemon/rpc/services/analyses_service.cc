#include "daemon/rpc/services/analyses_service.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/analysis/kinds/analysis_kinds.h"
#include "daemon/rpc/messages/column_message.h"
#include "daemon/rpc/messages/run_message.h"
#include "daemon/rpc/streams/pull_stream.h"
#include "daemon/rpc/streams/report_source.h"
#include "daemon/rpc/streams/trace_question.h"
#include "daemon/rpc/streams/trace_work.h"
#include "daemon/rpc/streams/unary_call.h"
#include "daemon/runs/audit/audited_calls.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr int64_t kAnalysisTimeoutMs = 30'000;               // of work, where the client names no other
constexpr int64_t kAnalysisMemoryBytes = int64_t{64} << 20;  // of what is made of the parts, the answer among it
constexpr size_t kAnalysisBatchRows = 1024;
constexpr size_t kAnalysisBatchBytes = 192 << 10;
constexpr size_t kRowBytes = 16;  // of a value, beside its text

v1::AnalysisType WireTypeOf(AnalysisType type) {
  switch (type) {
    case AnalysisType::kInteger:
      return v1::ANALYSIS_TYPE_INTEGER;
    case AnalysisType::kReal:
      return v1::ANALYSIS_TYPE_REAL;
    case AnalysisType::kText:
      return v1::ANALYSIS_TYPE_TEXT;
    case AnalysisType::kBoolean:
      return v1::ANALYSIS_TYPE_BOOLEAN;
    case AnalysisType::kJson:
      break;
  }
  return v1::ANALYSIS_TYPE_JSON;
}

void FillColumn(const AnalysisColumn& column, v1::AnalysisColumn& out) {
  out.set_name(column.name);
  out.set_type(WireTypeOf(column.type));
  out.set_unit(column.unit);
  out.set_meaning(column.meaning);
}

void FillOption(const AnalysisOption& option, v1::AnalysisOption& out) {
  out.set_name(option.name);
  out.set_type(WireTypeOf(option.type));
  out.set_default_value(option.by_default);
  out.set_unit(option.unit);
  out.set_meaning(option.meaning);
  std::string_view choices = option.choices;
  while (!choices.empty()) {
    const std::string_view one = choices.substr(0, choices.find('|'));
    out.add_choices(std::string(one));
    choices.remove_prefix(std::min(choices.size(), one.size() + 1));
  }
}

void FillKind(const AnalysisKind& kind, v1::AnalysisKind& out) {
  out.set_name(kind.name);
  out.set_version(kind.version);
  out.set_question(kind.question);
  for (const AnalysisOption& option : AllOptions(kind.options)) FillOption(option, *out.add_options());
  for (const AnalysisColumn& fact : kind.facts) FillColumn(fact, *out.add_facts());
  for (const AnalysisTable& table : kind.tables) {
    v1::AnalysisTable& shown = *out.add_tables();
    shown.set_name(table.name);
    for (const AnalysisColumn& column : table.columns) FillColumn(column, *shown.add_columns());
  }
}

// One question: worked out whole, then sent piece by piece.
class AnalysisSource final : public PullSource<v1::AnalyzeResponse> {
 public:
  AnalysisSource(const ServiceContext& context, const Caller& caller, const v1::AnalyzeRequest& request)
      : context_(context), caller_(caller), request_(request), question_(context, caller, "analyze") {}

  Result<Pulled> Next(v1::AnalyzeResponse& message, std::stop_token stop) override {
    if (ended_) return Pulled::kEnd;
    if (!answer_) {
      RETURN_IF_ERROR(ReadRequest());
      ASSIGN_OR_RETURN(const bool is_its_turn, question_.BeginTurn(timeout_ms()));
      if (!is_its_turn) return Pulled::kNothingYet;
      const Status answered = Answer(stop);
      if (question_.EndTurn() && !answered.ok()) {
        question_.Wait();
        return Pulled::kNothingYet;
      }
      if (!answered.ok()) {
        RecordIfRefused(context_.audit, caller_, Rpc::kAnalyze, answered);
        return answered;
      }
      FillHeader(*message.mutable_header());
      return Pulled::kMessage;
    }
    FillNext(message);
    return Pulled::kMessage;
  }

 private:
  int64_t timeout_ms() const { return request_.timeout_ms() > 0 ? request_.timeout_ms() : kAnalysisTimeoutMs; }
  std::string Act() const { return "analyze " + std::string(kind_->name); }

  // Once.
  Status ReadRequest() {
    if (kind_ != nullptr) return OkStatus();
    ASSIGN_OR_RETURN(const AnalysisKind* const kind, FindAnalysisKind(request_.kind()));
    given_ = {request_.options().begin(), request_.options().end()};
    ASSIGN_OR_RETURN(options_, AnalysisOptions::Read("analyze " + std::string(kind->name), kind->options, given_));
    names_ = request_.runs();
    for (const std::string& option : OptionsWithRuns(*kind)) AddNames(given_.at(option));
    RETURN_IF_ERROR(question_.CheckLimits(request_.timeout_ms(), names_.size()));
    if (request_.runs().empty()) {
      return Fail(ErrorCode::kUsage, "analyze " + std::string(kind->name), "it names no run",
                  "name one with a trace: an id or @last");
    }
    kind_ = kind;
    return OkStatus();
  }

  // Those that are given and name runs.
  std::vector<std::string> OptionsWithRuns(const AnalysisKind& kind) const {
    std::vector<std::string> found;
    for (const AnalysisOption& option : AllOptions(kind.options)) {
      if (option.names_runs && given_.contains(option.name)) found.emplace_back(option.name);
    }
    return found;
  }

  // "a,b".
  void AddNames(std::string_view text) {
    while (!text.empty()) {
      const std::string_view name = text.substr(0, text.find(','));
      *names_.Add() = std::string(name);
      text.remove_prefix(std::min(text.size(), name.size() + 1));
    }
  }

  // Options name runs by their ids from now on: @last moves on.
  Status FindRuns() {
    RETURN_IF_ERROR(question_.FindRuns(names_, Rpc::kAnalyze));
    auto next = static_cast<size_t>(request_.runs_size());
    for (const std::string& option : OptionsWithRuns(*kind_)) {
      std::string& text = given_.at(option);
      const auto names = static_cast<size_t>(std::count(text.begin(), text.end(), ',')) + (text.ends_with(',') ? 0 : 1);
      text.clear();
      for (size_t i = 0; i < names; ++i) {
        for (const std::string& id : question_.ids()[next++]) text += (text.empty() ? "" : ",") + id;
      }
    }
    ASSIGN_OR_RETURN(options_, AnalysisOptions::Read(Act(), kind_->options, given_));
    return OkStatus();
  }

  Status Answer(std::stop_token stop) {
    RETURN_IF_ERROR(FindRuns());
    work_ = std::make_unique<TraceWork>(Act(), TraceWork::Limits{timeout_ms(), kAnalysisMemoryBytes}, stop,
                                        question_.LongWorkOfTurn());
    const WorkBudget::Shift shift(work_->budget());
    Result<AnalysisAnswer> answer = Ask();
    work_->Close();
    if (!answer.ok()) return work_->Explained(answer.status());
    answer_.emplace(*std::move(answer));
    return OkStatus();
  }

  Result<AnalysisAnswer> Ask() {
    std::vector<TrustReason> broken;
    const std::vector<TracePlace> places = PlacesAsked();
    ASSIGN_OR_RETURN(const AnalysisTraces traces, work_->Open(context_, places, broken));
    ASSIGN_OR_RETURN(AnalysisAnswer answer, kprof::Analyze(*kind_, traces, options_, work_->signal()));
    for (TrustReason& reason : broken) answer.AddTrust(std::move(reason));
    return answer;
  }

  // Without those that the catalog knows to be of other ranks: of ten thousand parts one is opened. All of them, where
  // that leaves none: then the failure names the ranks that there are.
  std::vector<TracePlace> PlacesAsked() const {
    const std::optional<int64_t> rank = options_.integer("rank");
    std::vector<TracePlace> asked = question_.places();
    if (rank) std::erase_if(asked, [&rank](const TracePlace& place) { return place.rank && *place.rank != *rank; });
    return asked.empty() ? question_.places() : asked;
  }

  bool IsShown(const AnalysisColumn& column) const { return !column.of_several_runs || question_.runs().size() > 1; }

  void FillHeader(v1::AnalyzeResponse::Header& header) const {
    header.set_kind(kind_->name);
    header.set_version(kind_->version);
    for (const RunRow& run : question_.runs()) header.add_run_ids(run.id);
    for (const AnalysisColumn& fact : kind_->facts) FillColumn(fact, *header.add_facts());
    for (const AnalysisTable& table : kind_->tables) {
      v1::AnalysisTable& shown = *header.add_tables();
      shown.set_name(table.name);
      for (const AnalysisColumn& column : table.columns) {
        if (IsShown(column)) FillColumn(column, *shown.add_columns());
      }
    }
  }

  // What comes after what was sent.
  void FillNext(v1::AnalyzeResponse& message) {
    if (!std::exchange(has_facts_, true) && !kind_->facts.empty()) {
      for (const AnalysisValue& fact : answer_->facts()) AddValue(fact, *message.mutable_facts()->add_values());
      return;
    }
    while (table_ < kind_->tables.size() && row_ == answer_->rows(table_).size()) {
      ++table_;
      row_ = 0;
    }
    if (table_ < kind_->tables.size()) return FillBatch(*message.mutable_batch());
    ended_ = true;
    v1::AnalyzeResponse::End& end = *message.mutable_end();
    FillTrust(Trust(), *end.mutable_trust());
    for (const std::string& note : answer_->notes()) end.add_notes(ReadableText(note));
    end.set_elapsed_ms(work_->budget().elapsed_ms());
    answer_.reset();
  }

  void FillBatch(v1::AnalyzeResponse::Batch& batch) {
    const std::vector<AnalysisColumn>& columns = kind_->tables[table_].columns;
    const std::span<const AnalysisAnswer::Row> rows = answer_->rows(table_);
    batch.set_table(static_cast<int32_t>(table_));
    for (const AnalysisColumn& column : columns) {
      if (IsShown(column)) batch.add_columns();
    }
    size_t bytes = 0;
    size_t count = 0;
    for (; row_ < rows.size() && count < kAnalysisBatchRows && bytes < kAnalysisBatchBytes; ++row_, ++count) {
      int shown = 0;
      for (size_t i = 0; i < columns.size(); ++i) {
        if (!IsShown(columns[i])) continue;
        bytes += AddValue(rows[row_][i], *batch.mutable_columns(shown++));
      }
    }
    batch.set_rows(static_cast<int32_t>(count));
  }

  // About how many bytes that are.
  static size_t AddValue(const AnalysisValue& value, v1::ColumnData& column) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) {
      AddColumnValue(value, column);
      return kRowBytes;
    }
    AddColumnValue(IsUtf8(*text) ? value : AnalysisValue(ReadableText(*text)), column);
    return kRowBytes + text->size();
  }

  std::vector<TrustReason> Trust() const {
    std::vector<TrustReason> all;
    const auto add = [&all](const TrustReason& reason) {
      if (std::find(all.begin(), all.end(), reason) == all.end()) all.push_back(reason);
    };
    const std::vector<RunRow>& runs = question_.runs();
    const bool is_told = std::any_of(answer_->trust().begin(), answer_->trust().end(),
                                     [](const TrustReason& reason) { return reason.code == "run_failed"; });
    for (const RunRow& run : runs) {
      // Of several runs each reason says whose it is.
      const auto rank = run.labels.find("rank");
      const std::string whose = runs.size() < 2            ? ""
                                : rank == run.labels.end() ? "run " + run.id + ": "
                                                           : "rank " + ClippedText(rank->second, 20) + ": ";
      for (const TrustReason& reason : run.trust) add({reason.code, whose + reason.message});
      if (run.error && run.state == RunState::kFailed && !is_told) {
        add({"run_failed", whose + "the run failed: " + run.error->code + ": " + run.error->message});
      }
    }
    std::for_each(question_.left_out().begin(), question_.left_out().end(), add);
    std::for_each(answer_->trust().begin(), answer_->trust().end(), add);
    return all;
  }

  const ServiceContext& context_;
  const Caller caller_;
  const v1::AnalyzeRequest request_;
  std::map<std::string, std::string> given_;               // options; those that name runs have ids once they are found
  google::protobuf::RepeatedPtrField<std::string> names_;  // of runs: of the request, and then of options
  TraceQuestion question_;
  const AnalysisKind* kind_ = nullptr;  // null: the request was not read yet
  AnalysisOptions options_;
  std::unique_ptr<TraceWork> work_;       // takes the memory of the answer, too
  std::optional<AnalysisAnswer> answer_;  // once it is there
  bool has_facts_ = false;
  size_t table_ = 0;  // where sending is
  size_t row_ = 0;
  bool ended_ = false;
};

}  // namespace

grpc::ServerUnaryReactor* AnalysisServiceImpl::ListAnalyses(grpc::CallbackServerContext* /*context*/,
                                                            const v1::ListAnalysesRequest* /*request*/,
                                                            v1::ListAnalysesResponse* response) {
  auto* call = new UnaryCall(admission_, Rpc::kListAnalyses, SizeOf(response));
  if (call->refused()) return call;
  for (const AnalysisKind& kind : AnalysisKinds()) FillKind(kind, *response->add_kinds());
  call->End(OkStatus());
  return call;
}

grpc::ServerWriteReactor<v1::AnalyzeResponse>* AnalysisServiceImpl::Analyze(grpc::CallbackServerContext* context,
                                                                            const v1::AnalyzeRequest* request) {
  CallRecord record(admission_, Rpc::kAnalyze);
  if (!record.admitted().ok()) return new RefusedStream<v1::AnalyzeResponse>(std::move(record));
  auto source = std::make_unique<AnalysisSource>(context_, record.caller(), *request);
  // An answer that nobody reads holds memory of all queries: it is given up.
  return new PullStream<v1::AnalyzeResponse>(std::move(record), context_.loop, context_.queries, std::move(source),
                                             context);
}

grpc::ServerWriteReactor<v1::GetReportResponse>* AnalysisServiceImpl::GetReport(grpc::CallbackServerContext* context,
                                                                                const v1::GetReportRequest* request) {
  CallRecord record(admission_, Rpc::kGetReport);
  if (!record.admitted().ok()) return new RefusedStream<v1::GetReportResponse>(std::move(record));
  auto source = MakeReportSource(context_, record.caller(), *request);
  return new PullStream<v1::GetReportResponse>(std::move(record), context_.loop, context_.queries, std::move(source),
                                               context);
}

}  // namespace kprof

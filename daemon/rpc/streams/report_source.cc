#include "daemon/rpc/streams/report_source.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/analysis/report/report.h"
#include "daemon/analysis/report/report_details.h"
#include "daemon/analysis/report/report_files.h"
#include "daemon/rpc/streams/trace_question.h"
#include "daemon/rpc/streams/trace_work.h"
#include "daemon/runs/audit/audited_calls.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr int64_t kReportTimeoutMs = 30'000;               // of work, where the client names no other
constexpr int64_t kReportMemoryBytes = int64_t{64} << 20;  // of what is made of the parts
constexpr const char* kReportAct = "report";
constexpr const char* kBaselineLabel = "baseline";

class ReportSource final : public PullSource<v1::GetReportResponse> {
 public:
  ReportSource(const ServiceContext& context, const Caller& caller, const v1::GetReportRequest& request)
      : context_(context),
        caller_(caller),
        request_(request),
        question_(context, caller, kReportAct),
        baseline_question_(context, caller, kReportAct) {}

  Result<Pulled> Next(v1::GetReportResponse& message, std::stop_token stop) override {
    if (!report_) {
      ChooseFiles();
      RETURN_IF_ERROR(question_.CheckLimits(request_.timeout_ms(), 1));
      ASSIGN_OR_RETURN(const bool is_its_turn, question_.BeginTurn(timeout_ms()));
      if (!is_its_turn) return Pulled::kNothingYet;
      const Status made = Make(stop);
      if (question_.EndTurn() && !made.ok()) {
        question_.Wait();
        return Pulled::kNothingYet;
      }
      if (!made.ok()) {
        RecordIfRefused(context_.audit, caller_, Rpc::kGetReport, made);
        return made;
      }
      FillHeader(*message.mutable_header());
      return Pulled::kMessage;
    }
    if (sent_bytes_ < text_.size()) {
      message.set_data(text_.substr(sent_bytes_, StreamLimits::kChunkBytes));
      sent_bytes_ += message.data().size();
      return Pulled::kMessage;
    }
    if (next_form_ < forms_.size()) {
      const ReportFile& form = *forms_[next_form_++];
      text_ = form.write(*report_);
      BeginFile(form.name, form.media_type, message);
      return Pulled::kMessage;
    }
    if (next_detail_ == details_.size()) return Pulled::kEnd;
    ReportDetail& detail = details_[next_detail_++];
    text_ = std::move(detail.text);
    BeginFile(detail.name, detail.media_type, message);
    return Pulled::kMessage;
  }

 private:
  int64_t timeout_ms() const { return request_.timeout_ms() > 0 ? request_.timeout_ms() : kReportTimeoutMs; }

  void BeginFile(std::string_view name, std::string_view media_type, v1::GetReportResponse& message) {
    sent_bytes_ = 0;
    message.mutable_file()->set_name(std::string(name));
    message.mutable_file()->set_media_type(std::string(media_type));
    message.mutable_file()->set_size_bytes(static_cast<int64_t>(text_.size()));
  }

  bool IsAsked(std::string_view name) const {
    const auto& asked = request_.files();
    return asked.empty() || std::find(asked.begin(), asked.end(), name) != asked.end();
  }

  // Which forms are asked for. Other names are those of details: which there are is known once they are made.
  void ChooseFiles() {
    forms_.clear();
    details_asked_.clear();
    const std::span<const ReportFile> forms = ReportFiles();
    for (const ReportFile& form : forms) {
      if (IsAsked(form.name)) forms_.push_back(&form);
    }
    for (const std::string& name : request_.files()) {
      const auto is_it = [&name](const ReportFile& form) { return form.name == name; };
      if (std::none_of(forms.begin(), forms.end(), is_it)) details_asked_.push_back(name);
    }
  }

  Status Make(std::stop_token stop) {
    google::protobuf::RepeatedPtrField<std::string> names;
    names.Add(std::string(request_.run()));
    RETURN_IF_ERROR(question_.FindRuns(names, Rpc::kGetReport, TraceQuestion::WithoutTrace::kTaken));
    RETURN_IF_ERROR(CheckIsOne(question_));
    const bool has_baseline = FindBaseline(names);
    if (has_baseline) {
      Status found = baseline_question_.FindRuns(names, Rpc::kGetReport, TraceQuestion::WithoutTrace::kTaken);
      if (found.ok()) found = CheckIsOne(baseline_question_);
      if (!found.ok() && !request_.baseline().empty()) return found;
      if (!found.ok()) lost_baseline_ = names.Get(0);
    }
    TraceWork work(kReportAct, {timeout_ms(), kReportMemoryBytes}, stop, question_.LongWorkOfTurn());
    const WorkBudget::Shift shift(work.budget());
    Result<Report> report = Ask(work, has_baseline && lost_baseline_.empty());
    if (!report.ok()) return work.Explained(report.status());
    if (!lost_baseline_.empty()) {
      report->notes.push_back("the baseline " + lost_baseline_ + ", which it was captured with, is not there any more");
    }
    report_.emplace(*std::move(report));
    return OkStatus();
  }

  // A label may name several.
  static Status CheckIsOne(const TraceQuestion& question) {
    if (question.runs().size() == 1) return OkStatus();
    return Fail(ErrorCode::kUsage, "report", std::to_string(question.runs().size()) + " runs have this label",
                "report one of them, by its id (kprofctl runs --label K=V); of all together: kprofctl analyze lines "
                "label:K=V, kprofctl export label:K=V --format scalene");
  }

  // The name of the baseline in place of the run's; false: there is none.
  bool FindBaseline(google::protobuf::RepeatedPtrField<std::string>& names) const {
    std::string baseline = request_.baseline();
    const auto& labels = question_.runs().front().labels;
    if (const auto label = labels.find(kBaselineLabel); baseline.empty() && label != labels.end()) {
      baseline = label->second;
    }
    *names.Mutable(0) = baseline;
    return !baseline.empty();
  }

  Result<Report> Ask(TraceWork& work, bool has_baseline) {
    std::vector<TrustReason> broken;
    ASSIGN_OR_RETURN(const ReportedRun of, Open(work, question_, broken));
    std::optional<ReportedRun> baseline;
    if (has_baseline) {
      ASSIGN_OR_RETURN(baseline, Open(work, baseline_question_, broken));
    }
    ASSIGN_OR_RETURN(Report report, MakeReport(of, baseline ? &*baseline : nullptr, work.signal()));
    for (TrustReason& reason : broken) report.trust.push_back(std::move(reason));
    if (request_.files().empty() || !details_asked_.empty()) RETURN_IF_ERROR(MakeDetails(of, report, work.signal()));
    return report;
  }

  // Fails with kNotFound for one that this run's report does not have.
  Status MakeDetails(const ReportedRun& of, const Report& report, const StopSignal& stop) {
    ASSIGN_OR_RETURN(details_, MakeReportDetails(of, report, details_asked_, stop));
    for (const std::string& name : details_asked_) {
      const auto is_made = [&name](const ReportDetail& detail) { return detail.name == name; };
      if (std::any_of(details_.begin(), details_.end(), is_made)) continue;
      details_.clear();
      ASSIGN_OR_RETURN(const std::vector<ReportDetail> all, MakeReportDetails(of, report, {}, stop));
      return Fail(ErrorCode::kNotFound, kReportAct, "the report of this run has no file '" + ReadableText(name) + "'",
                  "ask for one of " + NamesOf(all));
    }
    return OkStatus();
  }

  static std::string NamesOf(const std::vector<ReportDetail>& details) {
    constexpr size_t kMostNamed = 50;
    std::string list;
    for (const ReportFile& form : ReportFiles()) list += (list.empty() ? "" : ", ") + std::string(form.name);
    for (size_t i = 0; i < std::min(details.size(), kMostNamed); ++i) list += ", " + details[i].name;
    return list + (details.size() > kMostNamed ? ", ..." : "");
  }

  Result<ReportedRun> Open(TraceWork& work, const TraceQuestion& question, std::vector<TrustReason>& broken) {
    const RunRow& run = question.runs().front();
    ASSIGN_OR_RETURN(AnalysisTraces traces, work.Open(context_, question.places(), broken));
    ASSIGN_OR_RETURN(ReportedRun reported,
                     ReadReportedRun(run, std::move(traces), context_.files, context_.catalog.layout()));
    reported.policy = request_.policy();
    return reported;
  }

  void FillHeader(v1::GetReportResponse::Header& header) const {
    header.set_run_id(report_->run_id);
    header.set_baseline_id(report_->baseline_id);
    header.set_folder(ProfileFolder(*report_));
    for (const ReportFile& form : ReportFiles()) header.add_files(std::string(form.name));
    for (const ReportDetailMaker& maker : ReportDetailMakers()) header.add_files(std::string(maker.name));
  }

  const ServiceContext& context_;
  const Caller caller_;
  const v1::GetReportRequest request_;
  TraceQuestion question_;
  TraceQuestion baseline_question_;  // never has a turn of its own
  std::vector<const ReportFile*> forms_;
  std::vector<std::string> details_asked_;
  std::string lost_baseline_;
  std::optional<Report> report_;  // once it is there
  std::vector<ReportDetail> details_;
  size_t next_form_ = 0;
  size_t next_detail_ = 0;
  std::string text_;  // of the file that is sent
  size_t sent_bytes_ = 0;
};

}  // namespace

std::unique_ptr<PullSource<v1::GetReportResponse>> MakeReportSource(const ServiceContext& context, const Caller& caller,
                                                                    const v1::GetReportRequest& request) {
  return std::make_unique<ReportSource>(context, caller, request);
}

}  // namespace kprof

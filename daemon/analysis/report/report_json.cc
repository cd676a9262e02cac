// The report for programs: kprof.report.v1, on one line.
#include "daemon/analysis/report/report_files.h"
#include "daemon/analysis/report/report_timeline.h"
#include "daemon/analysis/report/report_words.h"
#include "daemon/launch/given/json_text.h"

namespace kprof {
namespace {

// Writes objects member by member.
class ObjectText {
 public:
  ObjectText& Text(std::string_view key, std::string_view value) { return Raw(key, JsonQuoted(value)); }
  ObjectText& TextOrNull(std::string_view key, std::string_view value) {
    return Raw(key, value.empty() ? "null" : JsonQuoted(value));
  }
  ObjectText& Number(std::string_view key, std::optional<double> value) { return Raw(key, JsonNumber(value)); }
  ObjectText& Raw(std::string_view key, std::string_view json) {
    text_ += (text_.empty() ? "{" : ",") + JsonQuoted(key) + ":" + std::string(json);
    return *this;
  }
  std::string Take() { return text_.empty() ? "{}" : text_ + "}"; }

 private:
  std::string text_;
};

template <typename List, typename Write>
std::string ArrayText(const List& list, Write write) {
  std::string text = "[";
  for (const auto& one : list) text += (text.size() == 1 ? "" : ",") + write(one);
  return text + "]";
}

std::string StageJson(const ReportStage& stage) {
  return ObjectText()
      .Text("name", stage.name)
      .Raw("launches", std::to_string(stage.launches))
      .Number("duration_ns", stage.duration_ns)
      .Number("total_ns", stage.total_ns)
      .Number("tensor_percent", stage.tensor_percent)
      .Number("dram_percent", stage.dram_percent)
      .Number("occupancy_percent", stage.occupancy_percent)
      .Number("compute_sol_percent", stage.compute_sol_percent)
      .Number("memory_sol_percent", stage.memory_sol_percent)
      .TextOrNull("bottleneck", stage.bottleneck)
      .TextOrNull("memory_level", stage.memory_level)
      .TextOrNull("key_issue", stage.issue)
      .Number("intensity_flop_per_byte", stage.flop_per_byte)
      .Number("achieved_tflop_per_s", stage.tflop_per_s)
      .Number("attainable_tflop_per_s", stage.attainable_tflop_per_s)
      .Number("attainable_percent", stage.attainable_percent)
      .Number("achieved_gb_per_s", stage.gb_per_s)
      .Take();
}

std::string OpportunityJson(const ReportOpportunity& one) {
  return ObjectText()
      .Text("name", one.name)
      .TextOrNull("kernel", one.kernel)
      .Number("gain_percent", one.gain_percent)
      .Text("trigger", one.trigger)
      .Text("message", one.message)
      .TextOrNull("hint", one.hint)
      .TextOrNull("source", one.source)
      .Take();
}

std::string ChangeJson(const ReportChange& change) {
  return ObjectText()
      .Text("metric", change.metric)
      .TextOrNull("unit", change.unit)
      .Number("previous", change.previous)
      .Number("current", change.current)
      .Number("change_percent", ChangePercent(change))
      .Take();
}

std::string TrustJson(const TrustReason& reason) {
  return ObjectText().Text("code", reason.code).Text("message", reason.message).Take();
}

}  // namespace

std::string WriteReportJson(const Report& report) {
  ObjectText configuration;
  for (const auto& [name, value] : report.configuration) configuration.Text(name, value);
  ObjectText timeline;
  for (const auto& [name, percent] : report.timeline) timeline.Number(name, percent);
  ObjectText roof;
  roof.Number("tflop_per_s", report.roof.tflop_per_s).Number("gb_per_s", report.roof.gb_per_s);
  roof.TextOrNull("source", report.roof.text);
  roof.Number("measured_tflop_per_s", report.roof.measured_tflop_per_s);
  roof.Number("measured_gb_per_s", report.roof.measured_gb_per_s);
  roof.TextOrNull("measured_dtype", report.roof.measured_dtype);
  roof.TextOrNull("measured_confidence", report.roof.measured_confidence);
  roof.TextOrNull("measured_source", report.roof.measured_text);
  return ObjectText()
             .Text("schema", "kprof.report.v1")
             .Text("run", report.run_id)
             .Text("tool", report.tool)
             .Text("kernel", report.kernel)
             .TextOrNull("version", report.version)
             .TextOrNull("device", report.device)
             .TextOrNull("clocks", report.clocks)
             .Raw("configuration", configuration.Take())
             .Raw("stages", ArrayText(report.stages, StageJson))
             .Number("measured_ns", report.measured_ns)
             .Number("round_ns", report.round_ns)
             .Raw("timeline_percent", timeline.Take())
             .Raw("timeline", TimelineJson(report))
             .Text("bottleneck", BottleneckText(report))
             .Text("root_cause", report.root_cause)
             .Raw("opportunities", ArrayText(report.opportunities, OpportunityJson))
             .Raw("not_evaluated", ArrayText(report.unasked,
                                             [](const ReportUnasked& one) {
                                               return ObjectText()
                                                   .Text("code", one.rule)
                                                   .Raw("missing", one.missing.empty() ? "[]" : one.missing)
                                                   .Take();
                                             }))
             .TextOrNull("policy", report.policy)
             .Raw("roof", roof.Take())
             .TextOrNull("baseline", report.baseline_id)
             .Raw("changes", ArrayText(report.changes, ChangeJson))
             .Raw("trust", ArrayText(report.trust, TrustJson))
             .Raw("notes", ArrayText(report.notes, [](const std::string& note) { return JsonQuoted(note); }))
             .Take() +
         "\n";
}

}  // namespace kprof

#include "client/cli/views/run_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "client/cli/text/amounts_and_times.h"
#include "client/cli/text/table.h"
#include "client/cli/text/terminal_text.h"
#include "client/cli/views/samples_screen.h"
#include "client/cpp/followers.h"
#include "storage/base/readable_text.h"

namespace kprof::cli {
namespace {

constexpr std::array<std::pair<v1::RunState, std::string_view>, 7> kRunStates = {{
    {v1::RUN_STATE_QUEUED, "queued"},
    {v1::RUN_STATE_PREPARING, "preparing"},
    {v1::RUN_STATE_RUNNING, "running"},
    {v1::RUN_STATE_COLLECTING, "collecting"},
    {v1::RUN_STATE_DONE, "done"},
    {v1::RUN_STATE_FAILED, "failed"},
    {v1::RUN_STATE_CANCELLED, "cancelled"},
}};

}  // namespace

std::string RunStateName(v1::RunState state) {
  for (const auto& [value, name] : kRunStates) {
    if (value == state) return std::string(name);
  }
  return "state-" + std::to_string(static_cast<int>(state));
}

std::optional<v1::RunState> RunStateByName(std::string_view name) {
  for (const auto& [value, known] : kRunStates) {
    if (known == name) return value;
  }
  return std::nullopt;
}

TextStyle StyleOf(v1::RunState state) {
  if (state == v1::RUN_STATE_FAILED) return TextStyle::kTrouble;
  return state == v1::RUN_STATE_CANCELLED ? TextStyle::kWarning : TextStyle::kPlain;
}

std::string ErrorMessage(const v1::Run& run) {
  const std::string name = "run " + run.id() + ": ";
  const std::string& message = run.error().message();
  return message.starts_with(name) ? message.substr(name.size()) : message;
}

Status OutcomeOf(const v1::Run& run) {
  if (!IsEnded(run.state()) || run.state() == v1::RUN_STATE_DONE) return OkStatus();
  bool cancelled = run.state() == v1::RUN_STATE_CANCELLED;
  ErrorCode fallback = cancelled ? ErrorCode::kCancelled : ErrorCode::kInternal;
  std::optional<ErrorCode> known = ErrorCodeByName(run.error().code());
  ErrorCode code = known && *known != ErrorCode::kOk ? *known : fallback;
  std::string why = ErrorMessage(run);
  if (why.empty()) why = run.error().code().empty() ? "no reason is known" : run.error().code();
  return Fail(code, "run " + run.id() + (cancelled ? " was cancelled" : " failed"), why, run.error().remedy());
}

std::string ExitText(const v1::Run& run) {
  if (run.has_exit_code()) return "exit " + std::to_string(run.exit_code());
  return run.has_signal() ? SignalName(run.signal()) : "";
}

int64_t DurationNs(const v1::Run& run, int64_t now_ns) {
  for (const v1::Metric& metric : run.metrics()) {
    const bool whole = metric.kernel().empty() && !metric.has_launch();
    if (whole && metric.name() == "wall_ns") return static_cast<int64_t>(metric.value());
  }
  int64_t begin = run.has_started_unix_ns() ? run.started_unix_ns() : run.queued_unix_ns();
  int64_t end = run.has_ended_unix_ns() ? run.ended_unix_ns() : now_ns;
  return end > begin ? end - begin : 0;
}

namespace {

void WriteError(JsonWriter& json, const v1::Run& run) {
  if (!run.has_error()) {
    json.Null();
    return;
  }
  json.BeginObject().Key("code").String(run.error().code()).Key("message").String(run.error().message());
  json.Key("remedy").StringOrNull(run.error().remedy()).EndObject();
}

// SQL has the others, those of single kernels.
bool IsOfWholeRun(const v1::Metric& metric) {
  return metric.kernel().empty() && !metric.has_launch();
}

void WriteMetrics(JsonWriter& json, const v1::Run& run) {
  json.BeginObject();
  for (const v1::Metric& metric : run.metrics()) {
    if (IsOfWholeRun(metric)) json.Key(metric.name()).Double(metric.value());
  }
  json.EndObject();
}

void WriteTrace(JsonWriter& json, const v1::Run& run) {
  if (!run.has_trace()) {
    json.Null();
    return;
  }
  const v1::TraceCounts& trace = run.trace();
  json.BeginObject().Key("slices").Int(trace.slices()).Key("instants").Int(trace.instants());
  json.Key("counters").Int(trace.counters()).Key("flows").Int(trace.flows()).Key("tracks").Int(trace.tracks());
  json.Key("bytes").Int(trace.bytes()).Key("source_bytes").Int(trace.source_bytes()).EndObject();
}

void WriteVerdict(JsonWriter& json, const v1::Run& run) {
  json.Key("verdict");
  run.has_verdict() ? json.String(run.verdict().name()) : json.Null();
  json.Key("comparison");
  if (!run.has_verdict()) {
    json.Null();
    return;
  }
  const v1::RunVerdict& verdict = run.verdict();
  const auto write = [&json](const char* name, bool is_there, double value) {
    json.Key(name);
    is_there ? json.Double(value) : json.Null();
  };
  json.BeginObject();
  write("ratio", verdict.has_ratio(), verdict.ratio());
  write("ci_low", verdict.has_ci_low(), verdict.ci_low());
  write("ci_high", verdict.has_ci_high(), verdict.ci_high());
  json.Key("reasons").BeginArray();
  for (const std::string& reason : verdict.reasons()) json.String(reason);
  json.EndArray().EndObject();
}

void WriteLimit(JsonWriter& json, int64_t limit_ms) {
  if (limit_ms == 0) {
    json.Null();
  } else {
    json.Int(limit_ms);
  }
}

}  // namespace

void WriteRun(JsonWriter& json, const v1::Run& run, const QueuePlace* place) {
  json.BeginObject().Key("schema").String("kprof.run.v1").Key("id").String(run.id());
  json.Key("state").String(RunStateName(run.state())).Key("tool").String(run.tool());

  json.Key("labels").BeginObject();
  for (const auto& [key, value] : std::map<std::string, std::string>(run.labels().begin(), run.labels().end())) {
    json.Key(key).String(value);
  }
  json.EndObject();

  json.Key("device").BeginArray();
  for (const std::string& device : run.devices()) json.String(device);
  json.EndArray();
  json.Key("command").BeginArray();
  for (const std::string& word : run.argv()) json.String(word);
  json.EndArray();
  json.Key("uid").Int(run.uid());

  json.Key("queued_ns").Time(run.queued_unix_ns());
  json.Key("started_ns");
  run.has_started_unix_ns() ? json.Time(run.started_unix_ns()) : json.Null();
  json.Key("ended_ns");
  run.has_ended_unix_ns() ? json.Time(run.ended_unix_ns()) : json.Null();
  json.Key("exit_code");
  run.has_exit_code() ? json.Int(run.exit_code()) : json.Null();
  json.Key("signal");
  run.has_signal() ? json.Int(run.signal()) : json.Null();
  json.Key("error");
  WriteError(json, run);

  json.Key("trust").BeginArray();
  for (const v1::TrustReason& reason : run.trust()) {
    json.BeginObject().Key("code").String(reason.code()).Key("message").String(reason.message()).EndObject();
  }
  json.EndArray();
  json.Key("trace");
  WriteTrace(json, run);
  json.Key("metrics");
  WriteMetrics(json, run);
  json.Key("artifacts").BeginArray();
  for (const v1::Artifact& artifact : run.artifacts()) {
    json.BeginObject().Key("name").String(artifact.name()).Key("size_bytes").Int(artifact.size_bytes());
    json.Key("sha256").String(artifact.sha256()).Key("path").StringOrNull(artifact.path()).EndObject();
  }
  json.EndArray();
  json.Key("artifact_count").Int(std::max(run.artifact_count(), run.artifacts_size()));

  json.Key("cwd").String(run.cwd());
  json.Key("environment").BeginObject();
  for (const v1::EnvironmentVariable& variable : run.environment()) json.Key(variable.name()).String(variable.value());
  json.EndObject();
  json.Key("pinned").Bool(run.pinned()).Key("shared").Bool(run.shared()).Key("attached").Bool(run.attached());
  json.Key("timeout_ms");
  WriteLimit(json, run.timeout_ms());
  json.Key("queue_timeout_ms");
  WriteLimit(json, run.queue_timeout_ms());
  json.Key("session").StringOrNull(run.session_id()).Key("round");
  run.has_round() ? json.Int(run.round()) : json.Null();
  json.Key("priority").Int(run.priority()).Key("clocks").StringOrNull(run.clocks()).Key("cool_down_ms");
  WriteLimit(json, run.cool_down_ms());
  json.Key("exclusive").Bool(run.exclusive());
  WriteVerdict(json, run);
  json.Key("stdout_bytes").Int(run.stdout_bytes()).Key("stdout_dropped_bytes").Int(run.stdout_dropped_bytes());
  json.Key("stderr_bytes").Int(run.stderr_bytes()).Key("stderr_dropped_bytes").Int(run.stderr_dropped_bytes());
  if (place != nullptr) WriteQueuePlace(json, *place);
  json.EndObject();
}

std::string RunJsonLine(const v1::Run& run, const QueuePlace* place) {
  std::string line;
  JsonWriter json(line);
  WriteRun(json, run, place);
  return line + "\n";
}

namespace {

std::string StateText(const v1::Run& run, bool has_colours) {
  std::string text = Styled(RunStateName(run.state()), StyleOf(run.state()), has_colours);
  if (std::string exit = ExitText(run); !exit.empty()) text += ", " + exit;
  return text;
}

void AddError(Facts& facts, const v1::Run& run, bool has_colours) {
  if (!run.has_error()) return;
  facts.Add("error", Styled(TerminalText(run.error().code()), StyleOf(run.state()), has_colours) + ": " +
                         TerminalText(ErrorMessage(run)));
  if (!run.error().remedy().empty()) facts.Add("remedy", TerminalText(run.error().remedy()));
}

std::string OutputText(const char* name, int64_t printed_bytes, int64_t dropped_bytes) {
  std::string text = std::string(name) + " " + FormatBytes(printed_bytes);
  if (dropped_bytes > 0) text += " (" + FormatBytes(dropped_bytes) + " in the middle not kept)";
  return text;
}

// "wall": the amount says the unit.
std::string MetricName(const v1::Metric& metric) {
  std::string name = metric.name();
  if (name.ends_with("_" + metric.unit())) name.resize(name.size() - metric.unit().size() - 1);
  return TerminalText(name);
}

// A row for each metric of the run as a whole, at most `most`.
void AddMetrics(Facts& facts, const v1::Run& run, size_t most) {
  std::vector<const v1::Metric*> whole;
  size_t width = 0;
  for (const v1::Metric& metric : run.metrics()) {
    if (IsOfWholeRun(metric)) whole.push_back(&metric);
  }
  const size_t shown = whole.size() > most ? most - 1 : whole.size();
  for (size_t i = 0; i < shown; ++i) width = std::max(width, WidthOf(MetricName(*whole[i])));
  for (size_t i = 0; i < shown; ++i) {
    std::string text = MetricName(*whole[i]);
    text.append(width - WidthOf(text) + 2, ' ');
    facts.Add("measured", text + TerminalText(FormatAmount(whole[i]->value(), whole[i]->unit())));
  }
  if (shown < whole.size()) facts.Add("measured", "and " + std::to_string(whole.size() - shown) + " more");
}

std::string PartText(const v1::TracePart& part) {
  std::string text = part.name() + ": " + part.source_name() + " (" + part.source_format() + ", ";
  return text + FormatBytes(part.counts().source_bytes()) + ")";
}

void AddVerdict(Facts& facts, const v1::Run& run, bool has_colours) {
  if (!run.has_verdict()) return;
  const v1::RunVerdict& verdict = run.verdict();
  const auto maybe = [](bool is_there, double value) { return is_there ? std::optional(value) : std::nullopt; };
  std::string reasons;
  for (const std::string& reason : verdict.reasons()) reasons += (reasons.empty() ? "" : ", ") + reason;
  facts.Add("verdict", VerdictLine(verdict.name(), maybe(verdict.has_ratio(), verdict.ratio()),
                                   maybe(verdict.has_ci_low(), verdict.ci_low()),
                                   maybe(verdict.has_ci_high(), verdict.ci_high()), reasons, has_colours));
}

void AddTrace(Facts& facts, const v1::Run& run) {
  if (!run.has_trace()) return;
  const v1::TraceCounts& trace = run.trace();
  facts.Add("trace", std::to_string(trace.slices()) + " slices, " + std::to_string(trace.instants()) + " instants, " +
                         std::to_string(trace.counters()) + " counter values, " + std::to_string(trace.flows()) +
                         " flows on " + std::to_string(trace.tracks()) + " tracks");
  std::string stored = FormatBytes(trace.bytes());
  if (trace.source_bytes() > 0 && trace.bytes() >= trace.source_bytes()) {
    stored += " for " + FormatBytes(trace.source_bytes());
  } else if (trace.source_bytes() > 0) {
    stored += " of " + FormatBytes(trace.source_bytes()) + " (" +
              std::to_string((trace.bytes() * 100 + trace.source_bytes() / 2) / trace.source_bytes()) + " %)";
  }
  facts.Add("stored", stored);
  for (const v1::TracePart& part : run.trace_parts()) facts.Add("part", TerminalText(PartText(part)));
  if (run.trace_part_count() > run.trace_parts_size()) {
    facts.Add("part", "and " + std::to_string(run.trace_part_count() - run.trace_parts_size()) + " more");
  }
}

constexpr size_t kMetricsOfShortReport = 12;
constexpr size_t kAllMetrics = SIZE_MAX;

void AddResults(Facts& facts, const v1::Run& run, size_t most_metrics, bool has_colours) {
  AddMetrics(facts, run, most_metrics);
  AddVerdict(facts, run, has_colours);
  AddTrace(facts, run);
  // An import has none.
  if (run.tool() != "import")
    facts.Add("output", OutputText("stdout", run.stdout_bytes(), run.stdout_dropped_bytes()) + ", " +
                            OutputText("stderr", run.stderr_bytes(), run.stderr_dropped_bytes()));
  for (const v1::Artifact& artifact : run.artifacts()) {
    facts.Add("artifact", TerminalText(artifact.name()) + " (" + FormatBytes(artifact.size_bytes()) + ")");
  }
  if (run.trust().empty() && run.state() == v1::RUN_STATE_DONE) facts.Add("trust", "nothing speaks against it");
  for (const v1::TrustReason& reason : run.trust()) {
    facts.Add("trust", Styled(TerminalText(reason.code()), TextStyle::kWarning, has_colours) + ": " +
                           TerminalText(reason.message()));
  }
}

}  // namespace

std::string CommandOf(const v1::Run& run) {
  return CommandText(std::vector<std::string_view>(run.argv().begin(), run.argv().end()));
}

std::string DevicesOf(const v1::Run& run) {
  std::string text;
  for (const std::string& device : run.devices()) text += (text.empty() ? "" : ",") + device;
  return text.empty() ? "none" : TerminalText(text);
}

bool HasReport(const v1::Run& run) {
  if (run.state() != v1::RUN_STATE_DONE || !run.has_trace()) return false;
  // A report of kernels has no slices.
  const bool has_numbers = std::any_of(run.metrics().begin(), run.metrics().end(),
                                       [](const v1::Metric& metric) { return metric.name() == "kernel_metric_rows"; });
  return has_numbers || run.trace().slices() > 0;
}

std::string ShortReport(const v1::Run& run, bool has_colours) {
  Facts facts;
  facts.Add("run", TerminalText(run.id()));
  facts.Add("state", StateText(run, has_colours));
  // Why, and what to do, is the line that kprofctl ends with.
  if (run.has_error()) facts.Add("error", Styled(TerminalText(run.error().code()), StyleOf(run.state()), has_colours));
  if (run.has_started_unix_ns()) {
    facts.Add("took", FormatDuration(DurationNs(run, run.ended_unix_ns())) +
                          (run.tool() == "import" ? "" : " on " + DevicesOf(run)));
  } else {
    facts.Add("device", DevicesOf(run));
  }
  AddResults(facts, run, kMetricsOfShortReport, has_colours);
  if (HasReport(run)) facts.Add("next", "kprofctl report " + run.id());
  facts.Add("next", "kprofctl show " + run.id());
  if (run.stdout_bytes() > 0) facts.Add("next", "kprofctl logs " + run.id());
  if (run.stderr_bytes() > 0) facts.Add("next", "kprofctl logs " + run.id() + " --stderr");
  return facts.Take();
}

std::string FullReport(const v1::Run& run, const QueuePlace& place, int64_t now_ns, bool has_colours) {
  Facts facts;
  facts.Add("run", TerminalText(run.id()));
  facts.Add("state", StateText(run, has_colours));
  if (std::string where = QueuePlaceText(place); !where.empty()) facts.Add("queue", where);
  AddError(facts, run, has_colours);
  facts.Add("tool", TerminalText(run.tool()));
  facts.Add("command", CommandOf(run));
  facts.Add("cwd", TerminalText(run.cwd()));
  facts.Add("device", DevicesOf(run));
  facts.Add("uid", std::to_string(run.uid()));
  for (const auto& [key, value] : std::map<std::string, std::string>(run.labels().begin(), run.labels().end())) {
    std::string label = key;
    label.append("=").append(value);
    facts.Add("label", TerminalText(label));
  }
  facts.Add("queued", FormatTime(run.queued_unix_ns()));
  if (run.has_started_unix_ns()) {
    facts.Add("started", FormatTime(run.started_unix_ns()) + ", after " +
                             FormatDuration(run.started_unix_ns() - run.queued_unix_ns()));
  }
  if (run.has_ended_unix_ns()) facts.Add("ended", FormatTime(run.ended_unix_ns()));
  facts.Add(run.has_started_unix_ns() ? "took" : "waited", FormatDuration(DurationNs(run, now_ns)));
  if (run.timeout_ms() > 0) facts.Add("timeout", FormatDuration(run.timeout_ms() * 1'000'000));
  if (run.queue_timeout_ms() > 0)
    facts.Add("timeout", "in the queue " + FormatDuration(run.queue_timeout_ms() * 1'000'000));
  std::string marks = run.pinned() ? "pinned" : "not pinned";
  marks += run.shared() ? ", shared" : ", private";
  marks += run.attached() ? ", attached" : ", detached";
  facts.Add("kept", marks);
  if (!run.session_id().empty()) {
    facts.Add("session", TerminalText(run.session_id()) + ", round " + std::to_string(run.round()));
  }
  if (run.priority() != 0) facts.Add("priority", std::to_string(run.priority()));
  if (run.clocks() != "none" && !run.clocks().empty()) facts.Add("clocks", TerminalText(run.clocks()));
  if (run.cool_down_ms() > 0)
    facts.Add("cool down", "for " + FormatDuration(run.cool_down_ms() * 1'000'000) + " at most");
  if (run.exclusive()) facts.Add("device", "wanted for itself alone");
  for (const v1::EnvironmentVariable& variable : run.environment()) {
    facts.Add("env", TerminalText(variable.name() + "=" + variable.value()));
  }
  AddResults(facts, run, kAllMetrics, has_colours);
  return facts.Take();
}

std::string OneLineReport(const v1::Run& run, int64_t now_ns, bool has_colours) {
  std::string text = "run " + TerminalText(run.id()) + " ";
  text += Styled(RunStateName(run.state()), StyleOf(run.state()), has_colours);
  text += (IsEnded(run.state()) ? " after " : " for ") + FormatDuration(DurationNs(run, now_ns));
  if (std::string exit = ExitText(run); !exit.empty()) text += " (" + exit + ")";
  return text;
}

}  // namespace kprof::cli

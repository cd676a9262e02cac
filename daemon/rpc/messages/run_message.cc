#include "daemon/rpc/messages/run_message.h"

#include <algorithm>

#include "daemon/runs/audit/audited_calls.h"

namespace kprof {
namespace {

constexpr size_t kArtifactsInARun = 100;   // the others are listed by ListArtifacts
constexpr size_t kTracePartsInARun = 100;  // the others are seen by SQL

void FillCounts(const TraceTotals& totals, v1::TraceCounts& out) {
  out.set_slices(totals.slices);
  out.set_instants(totals.instants);
  out.set_counters(totals.counters);
  out.set_flows(totals.flows);
  out.set_tracks(totals.tracks);
  out.set_bytes(totals.bytes);
  out.set_source_bytes(totals.source_bytes);
}

void FillTrace(const std::vector<TracePartRow>& parts, v1::Run& out) {
  FillCounts(TotalsOf(parts), *out.mutable_trace());
  const size_t shown = std::min(parts.size(), kTracePartsInARun);
  for (size_t i = 0; i < shown; ++i) {
    v1::TracePart& part = *out.add_trace_parts();
    part.set_name(parts[i].name);
    if (parts[i].rank) part.set_rank(*parts[i].rank);
    part.set_source_name(parts[i].source_name);
    part.set_source_format(parts[i].source_format);
    part.set_source_artifact(parts[i].source_artifact);
    FillCounts(TotalsOf({parts[i]}), *part.mutable_counts());
  }
  out.set_trace_part_count(static_cast<int32_t>(parts.size()));
}

}  // namespace

v1::RunState ToWire(RunState state) {
  return static_cast<v1::RunState>(static_cast<int>(state) + 1);
}
RunState FromWire(v1::RunState state) {
  return static_cast<RunState>(static_cast<int>(state) - 1);
}

static_assert(static_cast<int>(RunState::kQueued) + 1 == v1::RUN_STATE_QUEUED);
static_assert(static_cast<int>(RunState::kCancelled) + 1 == v1::RUN_STATE_CANCELLED);

static_assert(static_cast<int>(ToolOptionType::kText) + 1 == v1::Tool::Option::TYPE_TEXT);
static_assert(static_cast<int>(ToolOptionType::kSwitch) + 1 == v1::Tool::Option::TYPE_SWITCH);
static_assert(static_cast<int>(ToolOptionType::kJson) + 1 == v1::Tool::Option::TYPE_JSON);

void FillTool(const Tool& tool, v1::Tool& out) {
  out.set_name(std::string(tool.name));
  out.set_summary(std::string(tool.summary));
  out.set_needs_command(tool.needs.needs_command);
  out.set_clocks(std::string(tool.needs.clocks));
  out.set_exclusive(tool.needs.exclusive);
  for (const ToolOption& option : tool.options) {
    v1::Tool::Option& to = *out.add_options();
    to.set_name(std::string(option.name));
    to.set_type(static_cast<v1::Tool::Option::Type>(static_cast<int>(option.type) + 1));
    to.set_default_value(std::string(option.usual));
    to.set_meaning(std::string(option.meaning));
    to.set_positional(option.is_positional);
  }
  for (const ToolOutput& output : tool.outputs) {
    v1::Tool::Output& to = *out.add_outputs();
    to.set_glob(std::string(output.glob));
    to.set_reader(std::string(output.reader));
    to.set_required(output.required);
  }
}

void FillArtifact(const ArtifactRow& row, v1::Artifact& out) {
  out.set_name(row.name);
  out.set_size_bytes(row.size_bytes);
  out.set_sha256(row.sha256);
  out.set_path(row.path);
}

void FillError(const RunError& error, v1::RunError& out) {
  out.set_code(error.code);
  out.set_message(error.message);
  out.set_remedy(error.remedy);
}

void FillTrust(const std::vector<TrustReason>& trust, google::protobuf::RepeatedPtrField<v1::TrustReason>& out) {
  for (const TrustReason& reason : trust) {
    v1::TrustReason& message = *out.Add();
    message.set_code(reason.code);
    message.set_message(reason.message);
  }
}

void FillMetrics(const std::vector<MetricRow>& metrics, google::protobuf::RepeatedPtrField<v1::Metric>& out) {
  for (const MetricRow& metric : metrics) {
    v1::Metric& message = *out.Add();
    message.set_name(metric.name);
    message.set_value(metric.value);
    message.set_unit(metric.unit);
    message.set_kernel(metric.kernel);
    if (metric.launch) message.set_launch(*metric.launch);
  }
}

void FillRun(const RunRow& row, v1::Run& out) {
  FillRunWithoutCommand(row, out);
  for (const std::string& argument : row.argv) out.add_argv(argument);
  for (const auto& [name, value] : row.environment) {
    v1::EnvironmentVariable& variable = *out.add_environment();
    variable.set_name(name);
    variable.set_value(value);
  }
}

size_t RunMessageBytes(const RunRow& row) {
  constexpr size_t kRest = 4096;
  size_t bytes = kRest + row.cwd.size();
  for (const std::string& argument : row.argv) bytes += argument.size();
  for (const auto& [name, value] : row.environment) bytes += name.size() + value.size();
  return bytes;
}

void FillRunWithoutCommand(const RunRow& row, v1::Run& out) {
  out.set_id(row.id);
  out.set_state(ToWire(row.state));
  out.set_uid(row.uid);
  out.set_tool(row.tool);
  out.set_cwd(row.cwd);
  for (const auto& [key, value] : row.labels) (*out.mutable_labels())[key] = value;
  for (const std::string& device : row.devices) out.add_devices(device);
  out.set_pinned(row.pinned);
  out.set_shared(row.shared);
  out.set_attached(row.attached);
  out.set_queued_unix_ns(row.queued_ns);
  if (row.started_ns) out.set_started_unix_ns(*row.started_ns);
  if (row.ended_ns) out.set_ended_unix_ns(*row.ended_ns);
  if (row.exit_code) out.set_exit_code(static_cast<int32_t>(*row.exit_code));
  if (row.signal) out.set_signal(static_cast<int32_t>(*row.signal));
  if (row.error) FillError(*row.error, *out.mutable_error());
  FillTrust(row.trust, *out.mutable_trust());
  FillMetrics(row.metrics, *out.mutable_metrics());
  const size_t artifacts = std::min(row.artifacts.size(), kArtifactsInARun);
  for (size_t i = 0; i < artifacts; ++i) FillArtifact(row.artifacts[i], *out.add_artifacts());
  out.set_artifact_count(static_cast<int32_t>(row.artifacts.size()));
  out.set_stdout_bytes(row.stdout_bytes);
  out.set_stdout_dropped_bytes(row.stdout_dropped_bytes);
  out.set_stderr_bytes(row.stderr_bytes);
  out.set_stderr_dropped_bytes(row.stderr_dropped_bytes);
  out.set_timeout_ms(row.timeout_ms);
  out.set_queue_timeout_ms(row.queue_timeout_ms);
  out.set_session_id(row.session_id);
  if (row.round) out.set_round(static_cast<int32_t>(*row.round));
  out.set_priority(static_cast<int32_t>(row.priority));
  out.set_clocks(row.clocks);
  out.set_cool_down_ms(row.cool_down_ms);
  out.set_exclusive(row.exclusive);
  if (!row.trace.empty()) FillTrace(row.trace, out);
  if (!row.verdict) return;
  v1::RunVerdict& verdict = *out.mutable_verdict();
  verdict.set_name(row.verdict->name);
  if (row.verdict->ratio) verdict.set_ratio(*row.verdict->ratio);
  if (row.verdict->ci_low) verdict.set_ci_low(*row.verdict->ci_low);
  if (row.verdict->ci_high) verdict.set_ci_high(*row.verdict->ci_high);
  for (const std::string& reason : row.verdict->reasons) verdict.add_reasons(reason);
}

namespace {

ImportGrouping GroupingOf(v1::ImportGrouping grouping) {
  switch (grouping) {
    case v1::IMPORT_GROUPING_ONE_RUN:
      return ImportGrouping::kOneRun;
    case v1::IMPORT_GROUPING_SEPARATE:
      return ImportGrouping::kSeparate;
    default:
      return ImportGrouping::kByJob;
  }
}

}  // namespace

ImportRequest RequestOf(const Caller& caller, const v1::SubmitImportRequest& message) {
  ImportRequest request;
  request.uid = caller.uid;
  request.caller = ActorOf(caller).caller;
  request.certificate_id = caller.certificate_id;
  request.groups = caller.groups;
  for (const v1::SubmitImportRequest::Source& source : message.sources()) {
    ImportRequest::Source& to = request.sources.emplace_back();
    to.ticket = source.ticket();
    to.name = source.name();
    if (source.has_rank()) to.rank = source.rank();
    to.may_be_none = source.may_be_none();
  }
  request.format = message.format().empty() ? "auto" : message.format();
  request.grouping = GroupingOf(message.grouping());
  request.labels.insert(message.labels().begin(), message.labels().end());
  request.keep_sources = message.keep_sources();
  request.again = message.again();
  request.shared = message.shared();
  request.attached = message.attached();
  request.idempotency_key = message.idempotency_key();
  return request;
}

RunRequest RequestOf(const Caller& caller, const v1::SubmitRunRequest& message) {
  const v1::RunSpec& spec = message.spec();
  RunRequest request;
  request.uid = caller.uid;
  request.caller = ActorOf(caller).caller;
  request.certificate_id = caller.certificate_id;
  request.is_remote = !caller.certificate.empty();
  request.groups = caller.groups;
  request.place = caller.place;
  request.tool = spec.tool();
  for (const v1::ToolOption& option : spec.options()) {
    request.options.push_back(option.name() + "=" + option.value());
  }
  request.argv.assign(spec.argv().begin(), spec.argv().end());
  request.cwd = spec.cwd();
  for (const v1::EnvironmentVariable& variable : spec.environment()) {
    request.environment.push_back(variable.name() + "=" + variable.value());
  }
  if (spec.has_umask()) request.umask = spec.umask() & 0777;
  for (const v1::ResourceLimit& limit : spec.limits()) {
    request.limits.push_back({limit.resource(), limit.soft(), limit.hard()});
  }
  request.labels.insert(spec.labels().begin(), spec.labels().end());
  request.device = spec.device();
  request.timeout_ms = spec.timeout_ms();
  request.queue_timeout_ms = spec.queue_timeout_ms();
  request.shared = spec.shared();
  request.attached = spec.attached();
  request.session_id = spec.session_id();
  request.priority = spec.priority();
  request.clocks = spec.clocks();
  request.cool_down_ms = spec.cool_down_ms();
  request.exclusive = spec.exclusive();
  request.collect.assign(spec.collect().begin(), spec.collect().end());
  request.prepare = spec.prepare();
  request.check = spec.check();
  request.idempotency_key = message.idempotency_key();
  return request;
}

}  // namespace kprof

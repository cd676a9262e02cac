#include "client/cli/views/run_json.h"

#include <algorithm>
#include <map>

#include "client/cli/views/run_outcome.h"

namespace kprof::cli {
namespace {

void WriteError(JsonWriter& json, const v1::Run& run) {
  if (!run.has_error()) {
    json.Null();
    return;
  }
  json.BeginObject().Key("code").String(run.error().code()).Key("message").String(run.error().message());
  json.Key("remedy").StringOrNull(run.error().remedy()).EndObject();
}

// Of the run as a whole; what single kernels measured is asked for with SQL.
void WriteMetrics(JsonWriter& json, const v1::Run& run) {
  json.BeginObject();
  for (const v1::Metric& metric : run.metrics()) {
    if (metric.kernel().empty() && !metric.has_launch()) json.Key(metric.name()).Double(metric.value());
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
    json.Key("sha256").String(artifact.sha256()).EndObject();
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

}  // namespace kprof::cli

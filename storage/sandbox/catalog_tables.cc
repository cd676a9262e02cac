#include "storage/sandbox/catalog_tables.h"

namespace kprof {
namespace {

constexpr CatalogColumn kRunColumns[] = {
    {"id", "TEXT", "r.id", "r.id"},
    {"uid", "INTEGER", "r.uid", "r.uid"},
    {"tool", "TEXT", "r.tool", "r.tool"},
    {"state", "TEXT",
     "CASE r.state WHEN 0 THEN 'queued' WHEN 1 THEN 'preparing' WHEN 2 THEN 'running' WHEN 3 THEN 'collecting' "
     "WHEN 4 THEN 'done' WHEN 5 THEN 'failed' WHEN 6 THEN 'cancelled' END",
     nullptr},
    {"command", "TEXT", "command_text(r.argv)", nullptr},
    {"cwd", "TEXT", "readable_text(r.cwd)", nullptr},
    {"labels", "TEXT",
     "(SELECT json_group_object(key, value) FROM (SELECT key, value FROM run_labels WHERE run_id = r.id ORDER BY key))",
     nullptr},
    {"devices", "TEXT",
     "(SELECT json_group_array(device) FROM (SELECT device FROM run_devices WHERE run_id = r.id ORDER BY position))",
     nullptr},
    {"pinned", "INTEGER", "r.pinned", "r.pinned"},
    {"shared", "INTEGER", "r.shared", "r.shared"},
    {"attached", "INTEGER", "r.attached", "r.attached"},
    {"timeout_ms", "INTEGER", "r.timeout_ms", "r.timeout_ms"},
    {"queue_timeout_ms", "INTEGER", "r.queue_timeout_ms", "r.queue_timeout_ms"},
    {"queued_ns", "INTEGER", "r.queued_ns", "r.queued_ns"},
    {"started_ns", "INTEGER", "r.started_ns", "r.started_ns"},
    {"ended_ns", "INTEGER", "r.ended_ns", "r.ended_ns"},
    {"duration_ns", "INTEGER", "r.ended_ns - r.started_ns", nullptr},
    {"exit_code", "INTEGER", "r.exit_code", "r.exit_code"},
    {"signal", "INTEGER", "r.signal", "r.signal"},
    {"error_code", "TEXT", "r.error_code", "r.error_code"},
    {"error_message", "TEXT", "r.error_message", "r.error_message"},
    {"error_remedy", "TEXT", "r.error_remedy", "r.error_remedy"},
    {"stdout_bytes", "INTEGER", "r.stdout_bytes", "r.stdout_bytes"},
    {"stdout_dropped_bytes", "INTEGER", "r.stdout_dropped_bytes", "r.stdout_dropped_bytes"},
    {"stderr_bytes", "INTEGER", "r.stderr_bytes", "r.stderr_bytes"},
    {"stderr_dropped_bytes", "INTEGER", "r.stderr_dropped_bytes", "r.stderr_dropped_bytes"},
    {"session", "TEXT", "r.session_id", "r.session_id"},
    {"round", "INTEGER", "r.round", "r.round"},
    {"priority", "INTEGER", "r.priority", "r.priority"},
    {"clocks", "TEXT", "r.clocks", "r.clocks"},
    {"cool_down_ms", "INTEGER", "r.cool_down_ms", "r.cool_down_ms"},
    {"exclusive", "INTEGER", "r.exclusive", "r.exclusive"},
    {"verdict", "TEXT", "(SELECT name FROM verdicts WHERE run_id = r.id)", nullptr},
    {"ratio", "REAL", "(SELECT ratio FROM verdicts WHERE run_id = r.id)", nullptr},
    {"ci_low", "REAL", "(SELECT ci_low FROM verdicts WHERE run_id = r.id)", nullptr},
    {"ci_high", "REAL", "(SELECT ci_high FROM verdicts WHERE run_id = r.id)", nullptr},
    {"verdict_reasons", "TEXT", "(SELECT reasons FROM verdicts WHERE run_id = r.id)", nullptr},
};

constexpr CatalogColumn kSessionColumns[] = {
    {"id", "TEXT", "s.id", "s.id"},
    {"uid", "INTEGER", "s.uid", "s.uid"},
    {"state", "TEXT",
     "CASE s.state WHEN 0 THEN 'queued' WHEN 1 THEN 'open' WHEN 2 THEN 'closing' WHEN 3 THEN 'closed' "
     "WHEN 4 THEN 'lost' END",
     nullptr},
    {"devices", "TEXT",
     "(SELECT json_group_array(device) FROM (SELECT device FROM session_devices WHERE session_id = s.id "
     "ORDER BY position))",
     nullptr},
    {"clocks", "TEXT", "s.clocks", "s.clocks"},
    {"labels", "TEXT",
     "(SELECT json_group_object(key, value) FROM (SELECT key, value FROM session_labels WHERE session_id = s.id "
     "ORDER BY key))",
     nullptr},
    {"attached", "INTEGER", "s.attached", "s.attached"},
    {"priority", "INTEGER", "s.priority", "s.priority"},
    {"ttl_ms", "INTEGER", "s.ttl_ms", "s.ttl_ms"},
    {"idle_timeout_ms", "INTEGER", "s.idle_timeout_ms", "s.idle_timeout_ms"},
    {"queue_timeout_ms", "INTEGER", "s.queue_timeout_ms", "s.queue_timeout_ms"},
    {"opened_ns", "INTEGER", "s.opened_ns", "s.opened_ns"},
    {"granted_ns", "INTEGER", "s.granted_ns", "s.granted_ns"},
    {"closed_ns", "INTEGER", "s.closed_ns", "s.closed_ns"},
    {"expires_ns", "INTEGER", "s.expires_ns", "s.expires_ns"},
    {"rounds", "INTEGER", "s.last_round", "s.last_round"},
    {"error_code", "TEXT", "s.error_code", "s.error_code"},
    {"error_message", "TEXT", "s.error_message", "s.error_message"},
    {"error_remedy", "TEXT", "s.error_remedy", "s.error_remedy"},
};

constexpr CatalogColumn kDeviceColumns[] = {
    {"run", "TEXT", "d.run_id", "d.run_id"},
    {"position", "INTEGER", "d.position", "d.position"},
    {"device", "TEXT", "d.device", "d.device"},
};

constexpr CatalogColumn kLabelColumns[] = {
    {"run", "TEXT", "l.run_id", "l.run_id"},
    {"key", "TEXT", "l.key", "l.key"},
    {"value", "TEXT", "l.value", "l.value"},
};

constexpr CatalogColumn kArtifactColumns[] = {
    {"run", "TEXT", "a.run_id", "a.run_id"},
    {"name", "TEXT", "a.name", "a.name"},
    {"size_bytes", "INTEGER", "a.size_bytes", "a.size_bytes"},
    {"sha256", "TEXT", "a.sha256", "a.sha256"},
    {"path", "TEXT", "a.path", "a.path"},
};

constexpr CatalogColumn kMetricColumns[] = {
    {"run", "TEXT", "m.run_id", "m.run_id"},
    {"kernel", "TEXT", "nullif(m.kernel, '')", "m.kernel"},  // null: the run as a whole
    {"launch", "INTEGER", "m.launch", "m.launch"},
    {"name", "TEXT", "m.name", "m.name"},
    {"value", "REAL", "m.value", "m.value"},
    {"unit", "TEXT", "m.unit", "m.unit"},
    {"position", "INTEGER", "m.position", "m.position"},
};

constexpr CatalogColumn kTrustColumns[] = {
    {"run", "TEXT", "t.run_id", "t.run_id"},
    {"code", "TEXT", "t.code", "t.code"},
    {"message", "TEXT", "t.message", "t.message"},
    {"position", "INTEGER", "t.position", "t.position"},
};

constexpr CatalogColumn kTraceColumns[] = {
    {"run", "TEXT", "p.run_id", "p.run_id"},
    {"part", "TEXT", "p.name", "p.name"},
    {"rank", "INTEGER", "p.rank", "p.rank"},
    {"source", "TEXT", "readable_text(p.source_name)", nullptr},
    {"source_format", "TEXT", "p.source_format", "p.source_format"},
    {"source_bytes", "INTEGER", "p.source_bytes", "p.source_bytes"},
    {"source_hash", "TEXT", "p.source_hash", "p.source_hash"},
    {"source_artifact", "TEXT", "p.source_artifact", "p.source_artifact"},
    {"bytes", "INTEGER", "p.bytes", "p.bytes"},
    {"slices", "INTEGER", "p.slices", "p.slices"},
    {"instants", "INTEGER", "p.instants", "p.instants"},
    {"counters", "INTEGER", "p.counters", "p.counters"},
    {"flows", "INTEGER", "p.flows", "p.flows"},
    {"tracks", "INTEGER", "p.tracks", "p.tracks"},
    {"position", "INTEGER", "p.position", "p.position"},
};

constexpr CatalogColumn kAuditColumns[] = {
    {"id", "INTEGER", "u.id", "u.id"},
    {"time_ns", "INTEGER", "u.time_ns", "u.time_ns"},
    {"uid", "INTEGER", "u.uid", "u.uid"},
    {"caller", "TEXT", "u.caller", "u.caller"},
    {"action", "TEXT", "u.action", "u.action"},
    {"run", "TEXT", "u.run_id", "u.run_id"},
    {"session", "TEXT", "u.session_id", "u.session_id"},
    {"devices", "TEXT", "u.devices", "u.devices"},
    {"outcome", "TEXT", "u.outcome", "u.outcome"},
    {"detail", "TEXT", "readable_text(u.detail)", nullptr},
};

constexpr CatalogTable kTables[] = {
    {"run", "id", "runs AS r", "r.id", nullptr, kRunColumns, 10'000, 1},
    {"artifact", "run, name", "artifacts AS a", "a.run_id", nullptr, kArtifactColumns, 50'000, 5},
    {"metric", "run, position", "metrics AS m", "m.run_id", nullptr, kMetricColumns, 500'000, 50},
    {"label", "run, key", "run_labels AS l", "l.run_id", nullptr, kLabelColumns, 30'000, 3},
    {"device", "run, position", "run_devices AS d", "d.run_id", nullptr, kDeviceColumns, 20'000, 2},
    {"trust", "run, position", "run_trust AS t", "t.run_id", nullptr, kTrustColumns, 20'000, 2},
    {"trace", "run, position", "trace_parts AS p", "p.run_id", nullptr, kTraceColumns, 10'000, 2},
    {"session", "id", "sessions AS s", "s.id", "s.uid", kSessionColumns, 1'000, 1},
    {"audit", "id", "audit AS u", "u.run_id", nullptr, kAuditColumns, 50'000, 5, /*is_audit=*/true},
};

}  // namespace

std::span<const CatalogTable> CatalogTables() {
  return kTables;
}

std::string CatalogColumnNames(const CatalogTable& table) {
  std::string names;
  for (const CatalogColumn& column : table.columns) names += std::string(names.empty() ? "" : ", ") + column.name;
  return names;
}

}  // namespace kprof

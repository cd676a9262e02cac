#include "client/cli/text/amounts_and_times.h"
#include "client/cli/text/json_writer.h"
#include "client/cli/text/terminal_text.h"
#include "client/cli/text/text_style.h"
#include "client/cli/verbs/verbs.h"
#include "client/cli/views/device_table.h"
#include "client/cpp/kprof_client.h"

namespace kprof::cli {
namespace {

std::string StatusJson(const v1::GetStatusResponse& status) {
  return JsonLine("kprof.status.v1", [&](JsonWriter& json) {
    json.Key("client_version").String(ClientVersion()).Key("version").String(status.version());
    json.Key("mode").String(status.mode()).Key("node").String(status.node_name()).Key("pid").Int(status.pid());
    json.Key("socket").String(status.socket_path()).Key("uid").Int(status.caller_uid());
    json.Key("started_ns").Time(status.started_unix_ns()).Key("now_ns").Time(status.now_unix_ns());
    json.Key("uptime_ns").Int(status.now_unix_ns() - status.started_unix_ns());
    json.Key("queue").BeginObject().Key("queued").Int(status.queue().queued());
    json.Key("running").Int(status.queue().running()).Key("limit").Int(status.queue().limit());
    json.Key("limit_per_uid").Int(status.queue().limit_per_uid());
    json.Key("sessions_attached").Int(status.queue().sessions_attached());
    json.Key("sessions_open").Int(status.queue().sessions_open());
    json.Key("sessions_queued").Int(status.queue().sessions_queued()).EndObject();
    const v1::StorageStatus& storage = status.storage();
    json.Key("storage").BeginObject().Key("state_dir").String(storage.state_folder()).Key("runs").Int(storage.runs());
    json.Key("catalog_bytes").Int(storage.catalog_bytes()).Key("artifact_bytes").Int(storage.artifact_bytes());
    json.Key("free_bytes").Int(storage.free_bytes()).Key("health").String(storage.health());
    json.Key("own")
        .BeginObject()
        .Key("runs")
        .Int(storage.own().runs())
        .Key("limit_runs")
        .Int(storage.own().limit_runs());
    json.Key("bytes").Int(storage.own().bytes()).Key("limit_bytes").Int(storage.own().limit_bytes());
    json.EndObject().EndObject();
    json.Key("devices");
    WriteDevices(json, status.devices());
  });
}

std::string OwnStorageText(const v1::StoredByUser& own) {
  std::string text = std::to_string(own.runs());
  if (own.limit_runs() > 0) text += " of " + std::to_string(own.limit_runs());
  text += " runs, " + FormatBytes(own.bytes());
  if (own.limit_bytes() > 0) text += " of " + FormatBytes(own.limit_bytes());
  return text;
}

TextStyle HealthStyle(const std::string& health) {
  if (health == "ok" || health == "checking") return TextStyle::kPlain;
  return health.starts_with("nearly") ? TextStyle::kWarning : TextStyle::kTrouble;
}

std::string StatusText(const v1::GetStatusResponse& status, bool has_colours) {
  const v1::StorageStatus& storage = status.storage();
  std::string node = status.node_name().empty() ? "" : " on " + status.node_name();
  std::string text;
  text += "kprofd      " + TerminalText(status.version() + node + ", " + status.mode() + " mode, pid ") +
          std::to_string(status.pid()) + "\n";
  text += "kprofctl    " + std::string(ClientVersion()) + "\n";
  text += "up          " + FormatDuration(status.now_unix_ns() - status.started_unix_ns()) + "\n";
  text += "socket      " + TerminalText(status.socket_path()) + "\n";
  text += "queue       " + std::to_string(status.queue().running()) + " running, " +
          std::to_string(status.queue().queued()) + " of at most " + std::to_string(status.queue().limit()) +
          " queued\n";
  text += "sessions    " + std::to_string(status.queue().sessions_open()) + " open, " +
          std::to_string(status.queue().sessions_queued()) + " queued\n";
  text += "storage     " + std::to_string(storage.runs()) + " runs, catalog " + FormatBytes(storage.catalog_bytes()) +
          ", files " + FormatBytes(storage.artifact_bytes()) + ", free " + FormatBytes(storage.free_bytes()) + "\n";
  if (status.mode() == "system") text += "of yours    " + OwnStorageText(storage.own()) + "\n";
  text += "state dir   " + TerminalText(storage.state_folder()) + "\n";
  text += "health      " + Styled(TerminalText(storage.health()), HealthStyle(storage.health()), has_colours) + "\n";
  return text;
}

}  // namespace

Status RunVerb(const StatusArgs&, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  ASSIGN_OR_RETURN(v1::GetStatusResponse status, client->GetStatus());
  if (context.global.json) {
    context.output.Write(StatusJson(status));
    return OkStatus();
  }
  context.output.Write(StatusText(status, context.output.result_has_colours()) + "\n");
  WriteDeviceTable(status.devices(), context.output);
  return OkStatus();
}

}  // namespace kprof::cli

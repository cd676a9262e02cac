#include <algorithm>

#include "client/cli/durations.h"
#include "client/cli/error_json.h"
#include "client/cli/json_writer.h"
#include "client/cli/run_report.h"
#include "client/cli/table.h"
#include "client/cli/verbs.h"

namespace kprof::cli {
namespace {

constexpr int64_t kPageSize = 200;

// Calls `take` with up to `limit` entries, newest first, page by page.
template <typename Take>
Status ForEachEntry(KprofClient& client, const AuditArgs& args, const Take& take) {
  v1::ListAuditRequest request;
  if (args.uid) request.set_uid(*args.uid);
  if (args.since_ms > 0) request.set_since_unix_ns(NowUnixNs() - args.since_ms * 1'000'000);
  int64_t left = args.limit;
  while (left > 0) {
    request.set_page_size(static_cast<int32_t>(std::min(left, kPageSize)));
    ASSIGN_OR_RETURN(v1::ListAuditResponse page, client.ListAudit(request));
    for (const v1::AuditEntry& entry : page.entries()) {
      if (left-- <= 0) return OkStatus();
      if (!take(entry)) return OkStatus();
    }
    if (page.next_page_token().empty()) return OkStatus();
    request.set_page_token(page.next_page_token());
  }
  return OkStatus();
}

void WriteEntry(JsonWriter& json, const v1::AuditEntry& entry) {
  json.BeginObject().Key("id").Int(entry.id()).Key("time_ns").Time(entry.time_unix_ns());
  json.Key("uid").Int(entry.uid()).Key("caller").String(entry.caller()).Key("action").String(entry.action());
  json.Key("run").StringOrNull(entry.run_id()).Key("session").StringOrNull(entry.session_id());
  json.Key("device").BeginArray();
  for (const std::string& device : entry.devices()) json.String(device);
  json.EndArray().Key("outcome").String(entry.outcome()).Key("detail").String(entry.detail()).EndObject();
}

Status WriteJson(KprofClient& client, const AuditArgs& args, Output& output) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject().Key("schema").String("kprof.audit.v1").Key("entries").BeginArray();
  bool begun = false;
  Status status = ForEachEntry(client, args, [&](const v1::AuditEntry& entry) {
    WriteEntry(json, entry);
    output.Write(text);
    text.clear();
    begun = true;
    return !output.broken();
  });
  if (!status.ok() && !begun) return status;
  json.EndArray();
  if (!status.ok()) WriteErrorMember(json, status);
  json.EndObject();
  output.Write(text + "\n");
  return status;
}

std::string Joined(const google::protobuf::RepeatedPtrField<std::string>& devices) {
  std::string text;
  for (const std::string& device : devices) text += (text.empty() ? "" : ",") + device;
  return text;
}

Status WriteTable(KprofClient& client, const AuditArgs& args, Output& output) {
  Table table({{"AGE", Align::kRight},
               {"UID", Align::kRight},
               {"CALLER"},
               {"ACTION"},
               {"DEVICE"},
               {"RUN"},
               {"OUTCOME"},
               {"DETAIL"}},
              output.ResultWidth(), [&output](std::string_view line) { output.Write(line); });
  const int64_t now_ns = NowUnixNs();
  RETURN_IF_ERROR(ForEachEntry(client, args, [&](const v1::AuditEntry& entry) {
    const std::string uid = entry.uid() == UINT32_MAX ? "-" : std::to_string(entry.uid());
    const std::string& about = entry.run_id().empty() ? entry.session_id() : entry.run_id();
    table.AddRow({FormatAge(now_ns - entry.time_unix_ns()), uid, entry.caller(), entry.action(),
                  Joined(entry.devices()), about, entry.outcome(), entry.detail()});
    return !output.broken();
  }));
  table.Finish();
  return OkStatus();
}

}  // namespace

Status RunVerb(const AuditArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  return context.global.json ? WriteJson(*client, args, context.output) : WriteTable(*client, args, context.output);
}

}  // namespace kprof::cli

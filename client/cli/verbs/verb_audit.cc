#include "client/cli/text/amounts_and_times.h"
#include "client/cli/text/table.h"
#include "client/cli/verbs/paged_list.h"
#include "client/cli/verbs/verbs.h"
#include "client/cli/views/run_text.h"

namespace kprof::cli {
namespace {

template <typename Take>
Status ForEachEntry(KprofClient& client, const AuditArgs& args, const Take& take) {
  v1::ListAuditRequest request;
  if (args.uid) request.set_uid(*args.uid);
  if (args.since_ms > 0) request.set_since_unix_ns(NowUnixNs() - args.since_ms * 1'000'000);
  return ForEachListed(
      request, args.limit, [&](const auto& page) { return client.ListAudit(page); },
      [](const v1::ListAuditResponse& page) -> const auto& { return page.entries(); }, take);
}

// Of nobody on this node: a remote client's who may start nothing, or the daemon's own.
bool IsNobody(const v1::AuditEntry& entry) {
  return entry.uid() == UINT32_MAX;
}

void WriteEntry(JsonWriter& json, const v1::AuditEntry& entry) {
  json.BeginObject().Key("id").Int(entry.id()).Key("time_ns").Time(entry.time_unix_ns());
  json.Key("uid");
  IsNobody(entry) ? json.Null() : json.Int(entry.uid());
  json.Key("caller").String(entry.caller()).Key("action").String(entry.action());
  json.Key("run").StringOrNull(entry.run_id()).Key("session").StringOrNull(entry.session_id());
  json.Key("device").BeginArray();
  for (const std::string& device : entry.devices()) json.String(device);
  json.EndArray().Key("outcome").String(entry.outcome()).Key("detail").String(entry.detail()).EndObject();
}

Status WriteJson(KprofClient& client, const AuditArgs& args, Output& output) {
  return WriteJsonList(
      output, "kprof.audit.v1", "entries", [&](const auto& take) { return ForEachEntry(client, args, take); },
      WriteEntry);
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
               {"SESSION"},
               {"OUTCOME"},
               {"DETAIL"}},
              output);
  const int64_t now_ns = NowUnixNs();
  RETURN_IF_ERROR(ForEachEntry(client, args, [&](const v1::AuditEntry& entry) {
    const std::string uid = IsNobody(entry) ? "-" : std::to_string(entry.uid());
    table.AddRow({FormatAge(now_ns - entry.time_unix_ns()), uid, entry.caller(), entry.action(),
                  Joined(entry.devices()), entry.run_id(), entry.session_id(), entry.outcome(), entry.detail()});
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

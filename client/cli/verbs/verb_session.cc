#include "client/cli/text/amounts_and_times.h"
#include "client/cli/text/table.h"
#include "client/cli/text/terminal_text.h"
#include "client/cli/verbs/open_session.h"
#include "client/cli/verbs/paged_list.h"
#include "client/cli/verbs/verbs.h"
#include "client/cli/views/session_text.h"

namespace kprof::cli {
namespace {

v1::OpenSessionRequest RequestOf(const OpenSessionArgs& args) {
  v1::OpenSessionRequest request;
  request.set_device(args.device);
  request.set_clocks(args.clocks);
  request.mutable_labels()->insert(args.labels.begin(), args.labels.end());
  request.set_detached(true);
  request.set_ttl_ms(args.ttl_ms);
  request.set_idle_timeout_ms(args.idle_timeout_ms);
  request.set_queue_timeout_ms(args.queue_timeout_ms);
  request.set_priority(static_cast<int32_t>(args.priority));
  return request;
}

template <typename Take>
Status ForEachSession(KprofClient& client, const ListSessionsArgs& args, const Take& take) {
  v1::ListSessionsRequest request;
  request.mutable_labels()->insert(args.labels.begin(), args.labels.end());
  for (v1::SessionState state : args.states) request.add_states(state);
  return ForEachListed(
      request, args.limit, [&](const auto& page) { return client.ListSessions(page); },
      [](const v1::ListSessionsResponse& page) -> const auto& { return page.sessions(); }, take);
}

Status WriteSessionsJson(KprofClient& client, const ListSessionsArgs& args, Output& output) {
  return WriteJsonList(
      output, "kprof.sessions.v1", "sessions", [&](const auto& take) { return ForEachSession(client, args, take); },
      [](JsonWriter& json, const v1::Session& session) { WriteSession(json, session); });
}

Status WriteSessionsTable(KprofClient& client, const ListSessionsArgs& args, Output& output) {
  Table table({{"ID"}, {"STATE"}, {"DEVICE"}, {"CLOCKS"}, {"AGE", Align::kRight}, {"ROUNDS", Align::kRight}, {"UID"}},
              output.ResultWidth(), [&output](std::string_view line) { output.Write(line); });
  const int64_t now_ns = NowUnixNs();
  RETURN_IF_ERROR(ForEachSession(client, args, [&](const v1::Session& session) {
    table.AddRow({session.id(), SessionStateName(session.state()), DevicesOf(session), session.clocks(),
                  FormatAge(now_ns - session.opened_unix_ns()), std::to_string(session.rounds()),
                  std::to_string(session.uid())});
    return !output.broken();
  }));
  table.Finish();
  return OkStatus();
}

}  // namespace

Status RunVerb(const OpenSessionArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(const v1::Session session, OpenDetachedSession(RequestOf(args), context));
  context.output.Write(context.global.json ? SessionJsonLine(session) : TerminalText(session.id()) + "\n");
  return OkStatus();
}

Status RunVerb(const CloseSessionArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  ASSIGN_OR_RETURN(v1::Session session, client->CloseSession(args.session));
  if (context.global.json) {
    context.output.Write(SessionJsonLine(session));
    return OkStatus();
  }
  context.output.Write("session " + TerminalText(session.id()) +
                       (session.state() == v1::SESSION_STATE_LOST ? " is lost\n" : " is closed\n"));
  // By somebody else, or by itself, maybe long ago.
  if (session.has_error()) {
    const v1::RunError& error = session.error();
    context.output.Note(TerminalText("it ended with " + error.code() + ": " + error.message() +
                                     (error.remedy().empty() ? "" : "; " + error.remedy())));
  }
  return OkStatus();
}

Status RunVerb(const ShowSessionArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  ASSIGN_OR_RETURN(v1::GetSessionResponse found, client->GetSession(args.session));
  const v1::Session& session = found.session();
  ASSIGN_OR_RETURN(v1::ListRoundsResponse rounds, client->ListRounds(session.id()));
  const QueuePlace place = PlaceOf(found);
  context.output.Write(context.global.json ? SessionJsonLine(session, &rounds, &place)
                                           : SessionReport(session, rounds, place, NowUnixNs()));
  return OkStatus();
}

Status RunVerb(const ListSessionsArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  return context.global.json ? WriteSessionsJson(*client, args, context.output)
                             : WriteSessionsTable(*client, args, context.output);
}

}  // namespace kprof::cli

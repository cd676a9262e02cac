#include "client/cli/verbs/verb_session.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "client/cli/text/amounts_and_times.h"
#include "client/cli/text/table.h"
#include "client/cli/text/terminal_text.h"
#include "client/cli/verbs/paged_list.h"
#include "client/cli/verbs/verbs.h"
#include "client/cli/views/named_cells.h"
#include "client/cli/views/received_analysis.h"
#include "client/cli/views/session_text.h"
#include "client/cli/waiting/interrupts.h"
#include "client/cli/waiting/progress.h"
#include "client/cli/waiting/queue_place.h"

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
  Table table({{"ID"},
               {"STATE"},
               {"DEVICE", Align::kLeft, Cut::kAtEnd},
               {"CLOCKS"},
               {"AGE", Align::kRight},
               {"ROUNDS", Align::kRight},
               {"UID"}},
              output);
  const int64_t now_ns = NowUnixNs();
  RETURN_IF_ERROR(ForEachSession(client, args, [&](const v1::Session& session) {
    const bool is_lost = session.state() == v1::SESSION_STATE_LOST;
    table.AddStyledRow({{session.id()},
                        {SessionStateName(session.state()), is_lost ? TextStyle::kTrouble : TextStyle::kPlain},
                        {DevicesOf(session)},
                        {session.clocks()},
                        {FormatAge(now_ns - session.opened_unix_ns())},
                        {std::to_string(session.rounds())},
                        {std::to_string(session.uid())}});
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

namespace {

// What the analysis `rounds` says of the rounds that are done, the first first. Nothing: none has anything to say.
std::optional<LoopAdvice> AskForAdvice(KprofClient& client, const v1::ListRoundsResponse& rounds) {
  constexpr int kMostRoundsAsked = 256;
  constexpr int64_t kAdviceTimeoutMs = 10'000;
  v1::AnalyzeRequest request;
  request.set_kind("rounds");
  request.set_timeout_ms(kAdviceTimeoutMs);
  const int first = std::max(0, rounds.rounds_size() - kMostRoundsAsked);
  for (int i = first; i < rounds.rounds_size(); ++i) {
    if (rounds.rounds(i).state() == v1::RUN_STATE_DONE) request.add_runs(rounds.rounds(i).run_id());
  }
  if (request.runs_size() == 0) return std::nullopt;
  ReceivedAnalysis answer;
  const Status asked =
      client.Analyze(request, [&answer](const v1::AnalyzeResponse& message) { return answer.Add(message); });
  if (!asked.ok() || !answer.is_whole()) return std::nullopt;  // rounds of tools that time nothing
  const NamedCells facts(answer.header().facts(), answer.facts());
  LoopAdvice advice;
  advice.stops = facts.integer("stop").value_or(0) != 0;
  advice.reason = facts.text("reason");
  advice.best_run = facts.text("best_run");
  advice.best_ns = facts.real("best_ns");
  if (advice.best_run.empty()) return std::nullopt;
  return advice;
}

}  // namespace

Status RunVerb(const ShowSessionArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  ASSIGN_OR_RETURN(v1::GetSessionResponse found, client->GetSession(args.session));
  const v1::Session& session = found.session();
  ASSIGN_OR_RETURN(v1::ListRoundsResponse rounds, client->ListRounds(session.id()));
  const QueuePlace place = PlaceOf(found);
  const std::optional<LoopAdvice> advice = AskForAdvice(*client, rounds);
  const LoopAdvice* const told = advice ? &*advice : nullptr;
  context.output.Write(context.global.json ? SessionJsonLine(session, &rounds, &place, told)
                                           : SessionReport(session, rounds, place, told, NowUnixNs()));
  return OkStatus();
}

Status RunVerb(const ListSessionsArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  return context.global.json ? WriteSessionsJson(*client, args, context.output)
                             : WriteSessionsTable(*client, args, context.output);
}

namespace {

// Names the holder that the next one in the queue waits for; any other waits for those before it.
std::string ForWhom(KprofClient& client, const v1::OpenSessionResponse& response) {
  if (response.queue_position() != 1) return "";
  Result<v1::ListDevicesResponse> devices = client.ListDevices();
  const std::string whom = devices.ok() ? WaitsFor(response.session(), *devices, true) : "";
  return whom.empty() ? "" : "; it waits " + whom;
}

bool IsOver(v1::SessionState state) {
  return state == v1::SESSION_STATE_CLOSED || state == v1::SESSION_STATE_LOST;
}

// A session that nobody waits for any more must not take the devices when its turn comes.
void CloseUnwanted(const VerbContext& context, const std::string& id) {
  Result<std::unique_ptr<KprofClient>> client = context.connect();
  Status closed = client.ok() ? (*client)->CloseSession(id).status() : client.status();
  if (closed.ok()) return context.output.Note("session " + id + " is closed");
  context.output.Note("session " + id + " may still open; close it with kprofctl session close " + id);
}

}  // namespace

Result<v1::Session> OpenDetachedSession(const v1::OpenSessionRequest& request, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  v1::Session session;
  Status opened;
  {
    InterruptibleCall call(true);
    ProgressLine line(context.output, ProgressAllowed(context.output));
    bool said_queued = false;
    auto on_message = [&](const v1::OpenSessionResponse& response) {
      session = response.session();
      const int64_t now_ns = NowUnixNs();
      const std::string progress = SessionProgress(response, now_ns, now_ns);
      line.Show(progress);
      if (!line.enabled() && !said_queued && response.queue_position() > 0) {
        context.output.Note("session " + progress + ForWhom(*client, response));
        said_queued = true;
      }
      return OkStatus();
    };
    opened = call.Ended(client->OpenSession(request, on_message, call.stop()));
  }
  if (opened.ok()) return session;
  if (!session.id().empty() && !IsOver(session.state())) CloseUnwanted(context, session.id());
  if (session.id().empty() && opened.code() == ErrorCode::kNoDaemon) {
    context.output.Note("if a session was opened all the same, kprofctl session list shows it");
  }
  return opened;
}

}  // namespace kprof::cli

#include "client/cli/views/session_text.h"

#include <array>
#include <map>

#include "client/cli/text/amounts_and_times.h"
#include "client/cli/text/table.h"
#include "client/cli/text/terminal_text.h"
#include "client/cli/views/run_text.h"

namespace kprof::cli {
namespace {

constexpr int64_t kNanosPerMilli = 1'000'000;

// In the order of v1::SessionState, from SESSION_STATE_QUEUED.
constexpr std::array<std::string_view, 5> kSessionStates = {"queued", "open", "closing", "closed", "lost"};

void WriteDuration(JsonWriter& json, std::string_view key, int64_t duration_ms) {
  json.Key(key);
  duration_ms == 0 ? json.Null() : json.Int(duration_ms);
}

void WriteError(JsonWriter& json, const v1::RunError& error) {
  json.BeginObject().Key("code").String(error.code()).Key("message").String(error.message());
  json.Key("remedy").StringOrNull(error.remedy()).EndObject();
}

template <typename Labels>
void WriteLabels(JsonWriter& json, const Labels& labels) {
  json.Key("labels").BeginObject();
  for (const auto& [key, value] : std::map<std::string, std::string>(labels.begin(), labels.end())) {
    json.Key(key).String(value);
  }
  json.EndObject();
}

void WriteRound(JsonWriter& json, const v1::Round& round) {
  json.BeginObject().Key("round").Int(round.number()).Key("run").String(round.run_id());
  json.Key("state").String(RunStateName(round.state()));
  WriteLabels(json, round.labels());
  json.Key("started_ns");
  round.has_started_unix_ns() ? json.Time(round.started_unix_ns()) : json.Null();
  json.Key("ended_ns");
  round.has_ended_unix_ns() ? json.Time(round.ended_unix_ns()) : json.Null();
  json.Key("error");
  if (round.has_error()) {
    WriteError(json, round.error());
  } else {
    json.Null();
  }
  json.Key("metrics").BeginObject();
  for (const v1::Metric& metric : round.metrics()) {
    if (metric.kernel().empty() && !metric.has_launch()) json.Key(metric.name()).Double(metric.value());
  }
  json.EndObject().EndObject();
}

std::string RoundText(const v1::Round& round) {
  std::string text = std::to_string(round.number()) + "  " + round.run_id() + "  " + RunStateName(round.state());
  if (round.has_started_unix_ns() && round.has_ended_unix_ns()) {
    text += " after " + FormatDuration(round.ended_unix_ns() - round.started_unix_ns());
  }
  if (round.has_error()) text += " (" + round.error().code() + ")";
  return TerminalText(text);
}

void WriteAdvice(JsonWriter& json, const LoopAdvice& advice) {
  json.BeginObject().Key("stop").Bool(advice.stops).Key("reason").StringOrNull(advice.reason);
  json.Key("best_run").StringOrNull(advice.best_run).Key("best_ns");
  advice.best_ns ? json.Double(*advice.best_ns) : json.Null();
  json.EndObject();
}

}  // namespace

std::string SessionStateName(v1::SessionState state) {
  const int place = static_cast<int>(state) - 1;
  if (place < 0 || place >= static_cast<int>(kSessionStates.size())) return "state " + std::to_string(state);
  return std::string(kSessionStates[static_cast<size_t>(place)]);
}

std::optional<v1::SessionState> SessionStateByName(std::string_view name) {
  for (size_t i = 0; i < kSessionStates.size(); ++i) {
    if (kSessionStates[i] == name) return static_cast<v1::SessionState>(i + 1);
  }
  return std::nullopt;
}

std::string DevicesOf(const v1::Session& session) {
  std::string text;
  for (const std::string& device : session.devices()) text += (text.empty() ? "" : ",") + device;
  return TerminalText(text);
}

std::string SessionReport(const v1::Session& session, const v1::ListRoundsResponse& rounds, const QueuePlace& place,
                          const LoopAdvice* advice, int64_t now_ns) {
  Facts facts;
  facts.Add("session", TerminalText(session.id()));
  facts.Add("state", SessionStateName(session.state()));
  if (std::string where = QueuePlaceText(place); !where.empty()) facts.Add("queue", where);
  if (session.has_error()) {
    facts.Add("error", TerminalText(session.error().code() + ": " + session.error().message()));
    if (!session.error().remedy().empty()) facts.Add("remedy", TerminalText(session.error().remedy()));
  }
  facts.Add("devices", DevicesOf(session));
  facts.Add("clocks", TerminalText(session.clocks()));
  facts.Add("uid", std::to_string(session.uid()));
  for (const auto& [key, value] :
       std::map<std::string, std::string>(session.labels().begin(), session.labels().end())) {
    facts.Add("label", TerminalText(key + "=" + value));
  }
  facts.Add("asked for", FormatTime(session.opened_unix_ns()));
  if (session.has_granted_unix_ns()) {
    facts.Add("opened", FormatTime(session.granted_unix_ns()) + ", after " +
                            FormatDuration(session.granted_unix_ns() - session.opened_unix_ns()));
  }
  if (session.has_closed_unix_ns()) {
    facts.Add("closed", FormatTime(session.closed_unix_ns()));
  } else if (session.has_expires_unix_ns()) {
    facts.Add("ends",
              FormatTime(session.expires_unix_ns()) + ", in " + FormatDuration(session.expires_unix_ns() - now_ns));
  }
  if (session.idle_timeout_ms() > 0) {
    facts.Add("ends", "after " + FormatDuration(session.idle_timeout_ms() * kNanosPerMilli) + " without a run");
  }
  if (session.attached()) facts.Add("ends", "with its client");
  if (session.priority() != 0) facts.Add("priority", std::to_string(session.priority()));
  for (const v1::TrustReason& reason : session.trust()) {
    facts.Add("trust", TerminalText(reason.code() + ": " + reason.message()));
  }
  facts.Add("rounds", std::to_string(session.rounds()));
  for (const v1::Round& round : rounds.rounds()) facts.Add("round", RoundText(round));
  if (advice == nullptr) return facts.Take();
  if (!advice->best_run.empty()) {
    facts.Add("best", TerminalText(advice->best_run) +
                          (advice->best_ns ? ", " + FormatDuration(static_cast<int64_t>(*advice->best_ns)) : ""));
  }
  facts.Add("advice", advice->stops ? "stop: " + TerminalText(advice->reason) : "go on");
  return facts.Take();
}

std::string SessionProgress(const v1::OpenSessionResponse& latest, int64_t received_ns, int64_t now_ns) {
  const v1::Session& session = latest.session();
  const int64_t passed_ns = now_ns - received_ns;
  std::string text = session.id() + "  " + SessionStateName(session.state()) + " " +
                     FormatAge(latest.now_unix_ns() + passed_ns - session.opened_unix_ns());
  if (session.state() == v1::SESSION_STATE_QUEUED) {
    const std::string place = QueuePlaceText(PlaceOf(latest), passed_ns);
    if (!place.empty()) text += ", " + place;
  }
  return TerminalText(text);
}

void WriteSession(JsonWriter& json, const v1::Session& session, const v1::ListRoundsResponse* rounds,
                  const QueuePlace* place, const LoopAdvice* advice) {
  json.BeginObject().Key("schema").String("kprof.session.v1").Key("id").String(session.id());
  json.Key("state").String(SessionStateName(session.state())).Key("uid").Int(session.uid());
  json.Key("device").BeginArray();
  for (const std::string& device : session.devices()) json.String(device);
  json.EndArray().Key("clocks").String(session.clocks());
  WriteLabels(json, session.labels());
  json.Key("attached").Bool(session.attached()).Key("priority").Int(session.priority());
  WriteDuration(json, "ttl_ms", session.ttl_ms());
  WriteDuration(json, "idle_timeout_ms", session.idle_timeout_ms());
  WriteDuration(json, "queue_timeout_ms", session.queue_timeout_ms());
  json.Key("opened_ns").Time(session.opened_unix_ns()).Key("granted_ns");
  session.has_granted_unix_ns() ? json.Time(session.granted_unix_ns()) : json.Null();
  json.Key("closed_ns");
  session.has_closed_unix_ns() ? json.Time(session.closed_unix_ns()) : json.Null();
  json.Key("expires_ns");
  session.has_expires_unix_ns() ? json.Time(session.expires_unix_ns()) : json.Null();
  json.Key("error");
  if (session.has_error()) {
    WriteError(json, session.error());
  } else {
    json.Null();
  }
  json.Key("trust").BeginArray();
  for (const v1::TrustReason& reason : session.trust()) {
    json.BeginObject().Key("code").String(reason.code()).Key("message").String(reason.message()).EndObject();
  }
  json.EndArray().Key("round_count").Int(session.rounds());
  if (place != nullptr) WriteQueuePlace(json, *place);
  if (rounds != nullptr) {
    json.Key("rounds").BeginArray();
    for (const v1::Round& round : rounds->rounds()) WriteRound(json, round);
    json.EndArray().Key("should_stop");
    advice != nullptr ? WriteAdvice(json, *advice) : static_cast<void>(json.Null());
  }
  json.EndObject();
}

std::string SessionJsonLine(const v1::Session& session, const v1::ListRoundsResponse* rounds, const QueuePlace* place,
                            const LoopAdvice* advice) {
  std::string line;
  JsonWriter json(line);
  WriteSession(json, session, rounds, place, advice);
  return line + "\n";
}

}  // namespace kprof::cli

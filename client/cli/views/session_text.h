// A session in words for people, and as JSON for programs. Pure functions; text for people is safe for a terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "client/cli/text/json_writer.h"
#include "client/cli/waiting/queue_place.h"
#include "kprof/v1/sessions.pb.h"

namespace kprof::cli {

std::string SessionStateName(v1::SessionState state);  // "open"
std::optional<v1::SessionState> SessionStateByName(std::string_view name);

// "0,1"
std::string DevicesOf(const v1::Session& session);

// The advice of the analysis `rounds` on a session's rounds.
struct LoopAdvice {
  bool stops = false;
  std::string reason;    // why; empty: go on
  std::string best_run;  // empty: none has a time
  std::optional<double> best_ns;
};

// All facts of the session, and a line for each round. `advice`: null where nobody can say.
std::string SessionReport(const v1::Session& session, const v1::ListRoundsResponse& rounds, const QueuePlace& place,
                          const LoopAdvice* advice, int64_t now_ns);

// "01jd  queued 3s, 2 before it, about 40s to wait".
std::string SessionProgress(const v1::OpenSessionResponse& latest, int64_t received_ns, int64_t now_ns);

// Writes the object kprof.session.v1; without its rounds and its place in the queue where they are null. With its
// rounds it has `should_stop`, null where `advice` is.
void WriteSession(JsonWriter& json, const v1::Session& session, const v1::ListRoundsResponse* rounds = nullptr,
                  const QueuePlace* place = nullptr, const LoopAdvice* advice = nullptr);
std::string SessionJsonLine(const v1::Session& session, const v1::ListRoundsResponse* rounds = nullptr,
                            const QueuePlace* place = nullptr, const LoopAdvice* advice = nullptr);

}  // namespace kprof::cli

// The daemon's log: one line per event on standard error, in key=value form, for people and for programs. Values are
// escaped, so text from others cannot control the reader's terminal. Where standard error is systemd's journal, a line
// begins with its priority instead of the time, which the journal notes itself: "<6>info run ended run=01j...
// state=done".
//
//   LogInfo("run ended", {{"run", id}, {"state", "done"}});
//   2026-11-21T10:00:00.123Z info run ended run=01j... state=done
//
// Levels say who must act: error, an operator now; warning, an operator some day; info, nobody; debug, us.
// Any thread; a line is one write(2). Never waits: a line that standard error does not take now (a pipe that nobody
// reads, a stopped terminal) is dropped, and the next one that it takes says how many were.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace kprof {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

using LogField = std::pair<std::string_view, std::string>;

std::optional<LogLevel> LogLevelByName(std::string_view name);  // "debug", "info", "warning", "error"
void SetLogLevel(LogLevel least);
void Log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields = {});

inline void LogInfo(std::string_view event, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kInfo, event, fields);
}
inline void LogWarning(std::string_view event, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kWarning, event, fields);
}
inline void LogError(std::string_view event, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kError, event, fields);
}

// Lines dropped since the start.
int64_t LogLinesDropped();

// True if the journal reads `fd`: JOURNAL_STREAM names that very file. False for a standard error that was redirected
// since.
bool IsJournal(int fd);

}  // namespace kprof

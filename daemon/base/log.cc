#include "daemon/base/log.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "storage/base/clock.h"
#include "storage/base/mutex.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

std::atomic<LogLevel> least_level{LogLevel::kInfo};

constexpr std::string_view kNames[] = {"debug", "info", "warning", "error"};
// What a pipe that has any room takes at once.
constexpr size_t kMostLineBytes = PIPE_BUF;
constexpr const char* kPriorities[] = {"<7>", "<6>", "<4>", "<3>"};

// Bare where that is unambiguous, else quoted, as TerminalText writes it and with \" and \\.
void AppendValue(std::string& line, std::string_view value) {
  std::string escaped;
  bool bare = !value.empty();
  for (char c : value) {
    if (c == '"' || c == '\\') escaped += '\\';
    if (c == '"' || c == '\\' || c == ' ' || c == '=') bare = false;
    escaped += c;
  }
  escaped = TerminalText(escaped);
  line += bare && escaped == value ? escaped : '"' + escaped + '"';
}

std::string TimeStamp(int64_t unix_ns) {
  unix_ns = std::max<int64_t>(0, unix_ns);
  std::time_t seconds = unix_ns / kNanosPerSecond;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char stamp[40];
  size_t size = std::strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(stamp + size, sizeof stamp - size, ".%03dZ ",
                static_cast<int>(unix_ns % kNanosPerSecond / kNanosPerMilli));
  return stamp;
}

std::string WholeLine(LogLevel level, int64_t unix_ns, std::string_view event, std::initializer_list<LogField> fields) {
  static const bool for_journal = IsJournal(STDERR_FILENO);
  std::string line = for_journal ? kPriorities[static_cast<int>(level)] : TimeStamp(unix_ns);
  line += kNames[static_cast<int>(level)];
  line += ' ';
  line += event;
  for (const auto& [key, value] : fields) {
    line += ' ';
    line += key;
    line += '=';
    AppendValue(line, value);
  }
  if (line.size() >= kMostLineBytes) line = ClippedText(line, kMostLineBytes - 16);
  return line + '\n';
}

// One at a time, so that what was asked still holds when it is written.
Mutex sink_mu;
int64_t dropped_lines KPROF_GUARDED_BY(sink_mu) = 0;  // of which no line has told yet
std::atomic<int64_t> all_dropped_lines{0};

void CountDropped() KPROF_REQUIRES(sink_mu) {
  ++dropped_lines;
  all_dropped_lines.fetch_add(1, std::memory_order_relaxed);
}

// False when it would have to wait. A log that cannot be written at all is no reason to stop, nor to count.
bool WriteNow(const std::string& line) {
  pollfd sink{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&sink, 1, 0) == 0) return false;
  while (::write(STDERR_FILENO, line.data(), line.size()) < 0 && errno == EINTR) {
  }
  return true;
}

}  // namespace

std::optional<LogLevel> LogLevelByName(std::string_view name) {
  const auto* found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<LogLevel>(found - std::begin(kNames));
}

void SetLogLevel(LogLevel least) {
  least_level = least;
}

bool IsJournal(int fd) {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat info {};
  if (stream == nullptr || ::fstat(fd, &info) != 0) return false;
  return std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino) == stream;
}

void Log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  if (level < least_level.load(std::memory_order_relaxed)) return;
  const int64_t now = RealClock().unix_ns();
  const std::string line = WholeLine(level, now, event, fields);
  MutexLock lock(sink_mu);
  if (dropped_lines > 0) {
    std::string dropped = std::to_string(dropped_lines);
    if (!WriteNow(WholeLine(LogLevel::kWarning, now, "log lines were dropped", {{"count", std::move(dropped)}}))) {
      CountDropped();
      return;
    }
    dropped_lines = 0;
  }
  if (!WriteNow(line)) CountDropped();
}

int64_t LogLinesDropped() {
  return all_dropped_lines.load(std::memory_order_relaxed);
}

}  // namespace kprof

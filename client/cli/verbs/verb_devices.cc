#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "client/cli/output.h"
#include "client/cli/text/amounts_and_times.h"
#include "client/cli/text/terminal_text.h"
#include "client/cli/verbs/verbs.h"
#include "client/cli/views/device_screen.h"
#include "client/cli/views/device_table.h"
#include "client/cli/waiting/interrupts.h"
#include "client/cpp/followers.h"

namespace kprof::cli {
namespace {

// The whole terminal, for a view that is drawn again and again: nothing of it is left when it goes. Keys are read as
// they are typed. Draws line by line over what was there, so that nothing flickers.
class LiveScreen {
 public:
  // Whether results go to a terminal that can do so.
  static bool IsPossible(const Output& output);
  // Whether it shows letters beyond ASCII, as far as the locale says.
  static bool ShowsUnicode();

  // Keys are read from `key_fd`, where that is a terminal.
  LiveScreen(Output& output, int key_fd);
  ~LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  size_t columns() const;
  size_t rows() const;
  // -1: there are no keys.
  int key_fd() const { return before_ ? key_fd_ : -1; }
  // True if q, Q or Ctrl-D was typed since the last call.
  bool ReadsQuit() const;

  void Draw(const std::vector<ScreenLine>& lines);

 private:
  Output& output_;
  const int key_fd_;
  std::optional<termios> before_;
};

constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J";
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?1049l";
constexpr std::string_view kHome = "\x1b[H";
constexpr std::string_view kRestOfLine = "\x1b[K";
constexpr std::string_view kRestOfScreen = "\x1b[J";
constexpr size_t kUsualColumns = 80;
constexpr size_t kUsualRows = 24;
constexpr char kEndOfInput = 4;

winsize SizeNow() {
  winsize size{};
  (void)::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
  return size;
}

bool LiveScreen::IsPossible(const Output& output) {
  const char* term = std::getenv("TERM");
  return output.result_is_terminal() && term != nullptr && std::string_view(term) != "dumb";
}

bool LiveScreen::ShowsUnicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale(value);
    return locale.find("UTF-8") != std::string_view::npos || locale.find("utf8") != std::string_view::npos;
  }
  return false;
}

LiveScreen::LiveScreen(Output& output, int key_fd) : output_(output), key_fd_(key_fd) {
  termios now{};
  if (::tcgetattr(key_fd_, &now) == 0) {
    before_ = now;
    now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    now.c_cc[VMIN] = 0;
    now.c_cc[VTIME] = 0;
    now.c_cc[VSUSP] = _POSIX_VDISABLE;  // a shell would be left with this screen
    ::tcsetattr(key_fd_, TCSANOW, &now);
  }
  output_.Write(kEnter);
  (void)output_.Flush();
}

LiveScreen::~LiveScreen() {
  output_.Write(kLeave);
  (void)output_.Flush();
  if (before_) ::tcsetattr(key_fd_, TCSANOW, &*before_);
}

size_t LiveScreen::columns() const {
  const size_t columns = SizeNow().ws_col;
  return columns == 0 ? kUsualColumns : columns;
}

size_t LiveScreen::rows() const {
  const size_t rows = SizeNow().ws_row;
  return rows == 0 ? kUsualRows : rows;
}

bool LiveScreen::ReadsQuit() const {
  if (!before_) return false;
  char typed[64];
  const ssize_t count = ::read(key_fd_, typed, sizeof typed);
  for (ssize_t i = 0; i < count; ++i) {
    if (typed[i] == 'q' || typed[i] == 'Q' || typed[i] == kEndOfInput) return true;
  }
  return false;
}

void LiveScreen::Draw(const std::vector<ScreenLine>& lines) {
  output_.Write(kHome);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) output_.Write("\r\n");
    for (const StyledText& piece : lines[i]) {
      output_.Write(Styled(piece.text, piece.style, output_.result_has_colours()));
    }
    output_.Write(kRestOfLine);
  }
  output_.Write(kRestOfScreen);
  (void)output_.Flush();
}

constexpr std::chrono::seconds kWatchEvery(1);
constexpr int kDrawEveryMs = 500;

void WriteList(const v1::ListDevicesResponse& response, const VerbContext& context) {
  if (!context.global.json) {
    WriteDeviceTable(response.devices(), context.output);
    return;
  }
  context.output.Write(JsonLine("kprof.devices.v1", [&](JsonWriter& json) {
    json.Key("devices");
    WriteDevices(json, response.devices());
  }));
}

Status PrintAgainAndAgain(const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  while (true) {
    ASSIGN_OR_RETURN(const v1::ListDevicesResponse response, client->ListDevices());
    WriteList(response, context);
    RETURN_IF_ERROR(context.output.Flush());
    if (context.output.broken()) return OkStatus();
    std::this_thread::sleep_for(kWatchEvery);
    if (!context.global.json) context.output.Write("\n");
  }
}

// Until there is news, a signal, a key, or the time is over.
void WaitForNews(const DeviceFollower& follower, const Interrupts& interrupts, int key_fd, int limit_ms) {
  std::array<pollfd, 3> waits = {pollfd{follower.fd(), POLLIN, 0}, pollfd{interrupts.fd(), POLLIN, 0},
                                 pollfd{key_fd, POLLIN, 0}};
  ::poll(waits.data(), waits.size(), limit_ms);
}

Status WatchLive(const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  ASSIGN_OR_RETURN(const v1::GetStatusResponse status, client->GetStatus());
  const Interrupts interrupts(ExitStatusOf(ErrorCode::kCancelled));
  DeviceFollower follower(context.connect, {{}, -1});
  DeviceScreen devices(status.node_name(), LiveScreen::ShowsUnicode());
  LiveScreen screen(context.output, STDIN_FILENO);
  while (true) {
    DeviceFollower::News news = follower.Take();
    if (news.end) return *news.end;
    devices.Take(news, NowUnixNs());
    screen.Draw(devices.Lines(screen.columns(), screen.rows(), NowUnixNs()));
    WaitForNews(follower, interrupts, screen.key_fd(), kDrawEveryMs);
    if (interrupts.first() != 0 || screen.ReadsQuit() || context.output.broken()) return OkStatus();
  }
}

void WriteEvent(const v1::DeviceEvent& event, const VerbContext& context) {
  if (!context.global.json) {
    context.output.Write(FormatTime(event.unix_ns()) + "  device " + TerminalText(event.device_id()) + "  " +
                         TerminalText(event.kind()) + "  " + TerminalText(event.text()) + "\n");
    return;
  }
  context.output.Write(JsonLine("kprof.device_event.v1", [&](JsonWriter& json) {
    json.Key("time_ns").String(std::to_string(event.unix_ns())).Key("device").String(event.device_id());
    json.Key("kind")
        .String(event.kind())
        .Key("text")
        .String(event.text())
        .Key("value")
        .Int(static_cast<int64_t>(event.value()));
  }));
}

Status FollowEvents(const VerbContext& context) {
  const Interrupts interrupts(ExitStatusOf(ErrorCode::kCancelled));
  DeviceFollower::Options options{{}, context.reconnect_ms};
  options.request.set_events_only(true);
  DeviceFollower follower(context.connect, std::move(options));
  bool was_away = false;
  while (interrupts.first() == 0) {
    WaitForNews(follower, interrupts, -1, -1);
    const DeviceFollower::News news = follower.Take();
    if (news.disconnected != was_away) {
      context.output.Note(news.disconnected ? "the connection to kprofd is lost; trying again"
                                            : "the connection to kprofd is back; what happened meanwhile is not told");
      was_away = news.disconnected;
    }
    if (news.dropped_events > 0) context.output.Note(std::to_string(news.dropped_events) + " events are missing here");
    for (const v1::DeviceEvent& event : news.events) WriteEvent(event, context);
    RETURN_IF_ERROR(context.output.Flush());
    if (context.output.broken()) return OkStatus();
    if (news.end) return *news.end;
  }
  return OkStatus();
}

}  // namespace

Status RunVerb(const DevicesArgs& args, const VerbContext& context) {
  if (args.events) return FollowEvents(context);
  if (args.watch && !context.global.json && LiveScreen::IsPossible(context.output)) return WatchLive(context);
  if (args.watch) return PrintAgainAndAgain(context);
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  ASSIGN_OR_RETURN(const v1::ListDevicesResponse response, client->ListDevices());
  WriteList(response, context);
  return OkStatus();
}

}  // namespace kprof::cli

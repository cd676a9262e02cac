#include "client/cli/verbs/live_screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace kprof::cli {
namespace {

constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J";
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?1049l";
constexpr std::string_view kHome = "\x1b[H";
constexpr std::string_view kRestOfLine = "\x1b[K";
constexpr std::string_view kRestOfScreen = "\x1b[J";
constexpr std::string_view kPlain = "\x1b[0m";
constexpr size_t kUsualColumns = 80;
constexpr size_t kUsualRows = 24;
constexpr char kEndOfInput = 4;

std::string_view ColourOf(TextStyle style) {
  switch (style) {
    case TextStyle::kPlain:
      return "";
    case TextStyle::kTitle:
      return "\x1b[1m";
    case TextStyle::kFaint:
      return "\x1b[2m";
    case TextStyle::kWarning:
      return "\x1b[33m";
    case TextStyle::kTrouble:
      return "\x1b[1;31m";
  }
  return "";
}

winsize SizeNow() {
  winsize size{};
  (void)::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
  return size;
}

bool WantsColours() {
  const char* none = std::getenv("NO_COLOR");
  return none == nullptr || *none == '\0';
}

}  // namespace

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

LiveScreen::LiveScreen(Output& output, int key_fd) : output_(output), key_fd_(key_fd), has_colours_(WantsColours()) {
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
      const std::string_view colour = has_colours_ ? ColourOf(piece.style) : "";
      if (!colour.empty()) output_.Write(colour);
      output_.Write(piece.text);
      if (!colour.empty()) output_.Write(kPlain);
    }
    output_.Write(kRestOfLine);
  }
  output_.Write(kRestOfScreen);
  (void)output_.Flush();
}

}  // namespace kprof::cli

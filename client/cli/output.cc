#include "client/cli/output.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <system_error>

#include "client/cli/text/terminal_text.h"

namespace kprof::cli {
namespace {

void WriteMembers(JsonWriter& json, const Status& failure) {
  json.Key("code").String(ErrorName(failure.code())).Key("message").String(failure.what() + ": " + failure.why());
  json.Key("remedy").StringOrNull(failure.remedy());
}

}  // namespace

std::string ErrorJsonLine(const Status& failure) {
  return JsonLine("kprof.error.v1", [&](JsonWriter& json) { WriteMembers(json, failure); });
}

void WriteErrorMember(JsonWriter& json, const Status& failure) {
  json.Key("error").BeginObject();
  WriteMembers(json, failure);
  json.EndObject();
}

namespace {

constexpr size_t kBufferBytes = 64 << 10;

// 0 or errno.
int WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {  // somebody who has it, too, has made it so
      pollfd room{fd, POLLOUT, 0};
      ::poll(&room, 1, -1);
      continue;
    }
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

// Where a reader can go away.
bool IsPipe(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode));
}

// Also where descriptors.h has put something in its place.
bool IsClosed(int fd) {
  int flags = ::fcntl(fd, F_GETFL);
  return flags < 0 || (flags & O_ACCMODE) == O_RDONLY;
}

bool ShowsColours() {
  const char* none = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool wanted = none == nullptr || *none == '\0';
  return wanted && term != nullptr && std::string_view(term) != "dumb";
}

size_t WidthOfTerminal(int fd) {
  winsize size = {};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

Output::Output(int result_fd, int note_fd)
    : result_fd_(result_fd),
      note_fd_(note_fd),
      result_is_closed_(IsClosed(result_fd)),
      result_is_terminal_(::isatty(result_fd) == 1),
      note_is_terminal_(::isatty(note_fd) == 1),
      result_is_pipe_(IsPipe(result_fd)),
      note_is_pipe_(IsPipe(note_fd)),
      shows_colours_(ShowsColours()) {}

void Output::Write(std::string_view bytes) {
  if (broken()) return;
  buffer_ += bytes;
  if (buffer_.size() >= kBufferBytes) (void)Flush();
}

void Output::Confirm(std::string_view bytes) {
  if (!result_is_closed_) Write(bytes);
}

Status Output::Flush() {
  if (!broken() && !buffer_.empty()) {
    int error = WriteAll(result_fd_, buffer_);
    buffer_.clear();
    if (error == EPIPE) {
      reader_gone_ = true;
    } else if (error != 0) {
      failure_ = Fail(ErrorCode::kInternal, "write standard output", std::generic_category().message(error));
    }
  }
  return failure_;
}

Status Output::CheckTakesMore() const {
  return broken() ? Fail(ErrorCode::kInternal, "write standard output", "it takes no more") : OkStatus();
}

void Output::Note(std::string_view text, TextStyle style) {
  WriteToTerminal("kprofctl: " + Styled(TerminalText(text), style, note_has_colours()) + "\n");
}

void Output::NoteQuoted(std::string_view text) {
  WriteToTerminal("  | " + TerminalText(text) + "\n");
}

void Output::ReportError(const Status& status, bool json) {
  (void)Flush();  // in the order in which things happened, where both go to the same place
  Note(status.ToString());
  if (json) WriteToTerminal(ErrorJsonLine(status));
}

Output::Passed Output::Pass(Place place, std::string_view& bytes) {
  const bool to_results = place == Place::kResults;
  if (to_results) (void)Flush();
  if (to_results && broken()) return reader_gone_ ? Passed::kReaderGone : Passed::kFailed;
  const int fd = to_results ? result_fd_ : note_fd_;
  const bool is_pipe = to_results ? result_is_pipe_ : note_is_pipe_;
  int error = 0;
  do {
    pollfd state{fd, static_cast<short>(bytes.empty() ? 0 : POLLOUT), 0};
    if (::poll(&state, 1, 0) <= 0) return Passed::kYes;
    if (is_pipe && (state.revents & (POLLERR | POLLHUP)) != 0) {
      error = EPIPE;
      break;
    }
    if (bytes.empty()) return Passed::kYes;
    // A pipe that poll finds ready takes as much without waiting, a terminal nearly always.
    const size_t piece_bytes = std::min<size_t>(bytes.size(), PIPE_BUF);
    const ssize_t written = ::write(fd, bytes.data(), piece_bytes);
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN) {
      return Passed::kYes;
    } else if (errno != EINTR) {
      error = errno;
    }
  } while (error == 0 && !bytes.empty());
  if (error == 0) return Passed::kYes;
  if (to_results && error == EPIPE) reader_gone_ = true;
  if (to_results && error != EPIPE) {
    failure_ = Fail(ErrorCode::kInternal, "write standard output", std::generic_category().message(error));
  }
  return error == EPIPE ? Passed::kReaderGone : Passed::kFailed;
}

pollfd Output::PassWait(Place place, bool has_bytes) const {
  const bool to_results = place == Place::kResults;
  const bool is_pipe = to_results ? result_is_pipe_ : note_is_pipe_;
  if (!is_pipe && !has_bytes) return {-1, 0, 0};
  return {to_results ? result_fd_ : note_fd_, static_cast<short>(has_bytes ? POLLOUT : 0), 0};
}

void Output::WriteToTerminal(std::string_view bytes) {
  // There is nobody left to tell when this fails.
  (void)WriteAll(note_fd_, bytes);
}

size_t Output::ResultWidth() const {
  return result_is_terminal_ ? WidthOfTerminal(result_fd_) : 0;
}
size_t Output::NoteWidth() const {
  return note_is_terminal_ ? WidthOfTerminal(note_fd_) : 0;
}

}  // namespace kprof::cli

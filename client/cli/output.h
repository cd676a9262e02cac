// A verb's output: results go to standard output; notes, errors and progress to standard error. Results are buffered. A
// reader that went away (`| head`) is no error; any other failure to write results is one.
#pragma once

#include <poll.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "client/cli/text/json_writer.h"
#include "client/cli/text/text_style.h"
#include "storage/base/status.h"

namespace kprof::cli {

// A failure as the object kprof.error.v1 of docs/cli.md, on a line of its own, for standard error.
std::string ErrorJsonLine(const Status& failure);

// Writes "error":{"code","message","remedy"} into the open object: the member of a result that breaks off.
void WriteErrorMember(JsonWriter& json, const Status& failure);

class Output {
 public:
  // The descriptors stay the caller's.
  Output(int result_fd, int note_fd);
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Writes results. Failures show in broken() and Flush().
  void Write(std::string_view bytes);
  // Confirms an act whose result is elsewhere, in a file. With standard output closed the confirmation is left out, and
  // that is no failure.
  void Confirm(std::string_view bytes);
  // Sends everything written so far. A reader that went away is no failure.
  Status Flush();
  // True: nothing written from now on arrives, so a stream of results may end.
  bool broken() const { return reader_gone_ || !failure_.ok(); }
  // Ends such a stream: fails with kInternal once the output is broken. Flush tells whether that is a failure of the
  // verb.
  Status CheckTakesMore() const;

  // "kprofctl: text", made safe for a terminal.
  void Note(std::string_view text, TextStyle style = TextStyle::kPlain);
  // "  | text", made safe: a line that another program wrote.
  void NoteQuoted(std::string_view text);
  // "kprofctl: what: why; remedy", and with json also the object kprof.error.v1.
  void ReportError(const Status& status, bool json);
  enum class Place { kResults, kNotes };  // standard output, standard error
  enum class Passed { kYes, kReaderGone, kFailed };
  // Writes what another program printed, unchanged: as much as can be written without waiting. Takes that off `bytes`.
  // Without bytes it only looks whether the reader of a pipe is gone. A failure to write results shows in Flush, too.
  Passed Pass(Place place, std::string_view& bytes);
  // The events to poll for before the next Pass: room, where there are bytes to write, and that the reader of a pipe
  // goes away. fd -1: none.
  pollfd PassWait(Place place, bool has_bytes) const;

  // Writes `bytes` unchanged, for progress.h and the like.
  void WriteToTerminal(std::string_view bytes);

  bool result_is_terminal() const { return result_is_terminal_; }
  bool note_is_terminal() const { return note_is_terminal_; }
  // True where text may have colours: on a terminal that is not a dumb one, unless NO_COLOR is set (no-color.org).
  bool result_has_colours() const { return result_is_terminal_ && shows_colours_; }
  bool note_has_colours() const { return note_is_terminal_ && shows_colours_; }
  // Columns of the terminal that shows results or notes; 0 when there is none.
  size_t ResultWidth() const;
  size_t NoteWidth() const;

 private:
  const int result_fd_;
  const int note_fd_;
  const bool result_is_closed_;
  const bool result_is_terminal_;
  const bool note_is_terminal_;
  const bool result_is_pipe_;  // or a socket
  const bool note_is_pipe_;
  const bool shows_colours_;

  std::string buffer_;
  bool reader_gone_ = false;
  Status failure_;
};

}  // namespace kprof::cli

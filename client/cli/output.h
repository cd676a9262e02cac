// Where a verb's words go: results to standard output, notes, errors and progress to standard error. Results are
// buffered; a reader that went away (`| head`) is no error, anything else that stops them from arriving is one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "client/cli/text/json_writer.h"
#include "storage/base/status.h"

namespace kprof::cli {

// A failure in JSON, as docs/cli.md promises it: the object of its own that goes to standard error, and the member of a
// result that breaks off.

// kprof.error.v1 on a line of its own.
std::string ErrorJsonLine(const Status& failure);

// "error":{"code","message","remedy"}, into the object that is open.
void WriteErrorMember(JsonWriter& json, const Status& failure);

class Output {
 public:
  // The descriptors stay the caller's.
  Output(int result_fd, int note_fd);
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Results. Failures show in `broken` and in Flush.
  void Write(std::string_view bytes);
  // What was done, where the result itself is elsewhere, in a file: with standard output closed it is left out, and
  // that is no failure.
  void Confirm(std::string_view bytes);
  // Everything written so far has left. A reader that went away is no failure.
  Status Flush();
  // Nothing written from now on arrives; a stream of results may as well end.
  bool broken() const { return reader_gone_ || !failure_.ok(); }
  // What ends such a stream: kInternal once it is broken. Whether that is a failure of the verb, Flush tells.
  Status CheckTakesMore() const;

  // "kprofctl: text", made safe for a terminal.
  void Note(std::string_view text);
  // "  | text", made safe: a line of somebody else's.
  void NoteQuoted(std::string_view text);
  // "kprofctl: what: why; remedy", and with json also the object kprof.error.v1.
  void ReportError(const Status& status, bool json);
  // As it is, for progress.h.
  void WriteToTerminal(std::string_view bytes);

  bool result_is_terminal() const { return result_is_terminal_; }
  bool note_is_terminal() const { return note_is_terminal_; }
  // Columns of the terminal that shows results or notes; 0 when there is none.
  size_t ResultWidth() const;
  size_t NoteWidth() const;

 private:
  const int result_fd_;
  const int note_fd_;
  const bool result_is_closed_;
  const bool result_is_terminal_;
  const bool note_is_terminal_;

  std::string buffer_;
  bool reader_gone_ = false;
  Status failure_;
};

}  // namespace kprof::cli

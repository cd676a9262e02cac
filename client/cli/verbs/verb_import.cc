#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "client/cli/text/amounts_and_times.h"
#include "client/cli/text/terminal_text.h"
#include "client/cli/verbs/import_files.h"
#include "client/cli/verbs/verbs.h"
#include "client/cli/views/run_text.h"
#include "client/cli/waiting/follow_run.h"
#include "client/cli/waiting/interrupts.h"
#include "client/cli/waiting/progress.h"
#include "client/cpp/side_socket_client.h"
#include "storage/base/files.h"

namespace kprof::cli {
namespace {

constexpr size_t kSourceChunkBytes = 256 << 10;

Status Interrupted() {
  return Fail(ErrorCode::kCancelled, "import", "interrupted before anything was submitted");
}

// What is sent of a file, and how far that is.
class SentFile {
 public:
  SentFile(const ImportFile& file, ProgressLine& line, const Interrupts& interrupts)
      : file_(file), line_(line), interrupts_(interrupts) {}

  Result<std::string> Next() {
    if (interrupts_.first() != 0) return Interrupted();
    std::string bytes(kSourceChunkBytes, '\0');
    ssize_t got = 0;
    do {
      if (!file_.is_regular && !interrupts_.WaitReadable(file_.fd.get())) return Interrupted();
      got = file_.is_regular ? ::pread(file_.fd.get(), bytes.data(), bytes.size(), sent_bytes_)
                             : ::read(file_.fd.get(), bytes.data(), bytes.size());
    } while (got < 0 && (errno == EAGAIN || errno == EINTR));
    if (got < 0) return FailErrno(errno, "read " + TerminalText(file_.path));
    bytes.resize(static_cast<size_t>(got));
    sent_bytes_ += got;
    std::string text = "sending " + TerminalText(file_.name) + "  " + FormatBytes(sent_bytes_);
    if (file_.size_bytes > 0) text += " of " + FormatBytes(file_.size_bytes);
    line_.Show(text);
    return bytes;
  }

 private:
  const ImportFile& file_;
  ProgressLine& line_;
  const Interrupts& interrupts_;
  int64_t sent_bytes_ = 0;
};

Result<std::string> Send(const ImportFile& file, KprofClient& client, const VerbContext& context,
                         const Interrupts& interrupts) {
  // The daemon does not wait long for more.
  if (!file.is_regular && !interrupts.WaitReadable(file.fd.get())) return Interrupted();
  ProgressLine line(context.output, ProgressAllowed(context.output));
  SentFile sent(file, line, interrupts);
  v1::UploadSourceRequest::Header header;
  header.set_name(file.name);
  header.set_size_bytes(file.size_bytes);
  header.set_may_be_none(file.from_folder);
  return client.UploadSource(header, [&] { return sent.Next(); });
}

// The ticket of a file: handed over where the daemon is here and takes it, else sent.
Result<std::string> Bring(const ImportFile& file, KprofClient& client, const VerbContext& context,
                          const Interrupts& interrupts) {
  if (interrupts.first() != 0) return Interrupted();
  if (file.is_regular && !context.on_another_node) {
    Result<std::string> held = SendOpenFile(client.socket_path(), file.fd.get());
    const ErrorCode code = held.status().code();
    if (code != ErrorCode::kUsage && code != ErrorCode::kNoDaemon) return held;
  }
  return Send(file, client, context, interrupts);
}

Result<v1::SubmitImportResponse> Submit(const ImportArgs& args, const VerbContext& context,
                                        const Interrupts& interrupts) {
  ASSIGN_OR_RETURN(const ImportFiles opened, OpenImportFiles(args.files));
  for (const std::string& line : PassedOver(opened)) context.output.Note(line);
  const std::vector<ImportFile>& files = opened.files;
  if (args.rank && files.size() > 1) {
    return Fail(ErrorCode::kUsage, "import", "--rank is for one file, and there are " + std::to_string(files.size()),
                "leave it out: ranks come from the traces, else from the names of the files, else from their order");
  }
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  v1::SubmitImportRequest request;
  request.set_idempotency_key(RandomName());
  request.set_format(args.format);
  request.mutable_labels()->insert(args.labels.begin(), args.labels.end());
  request.set_keep_sources(args.keep_source);
  request.set_again(args.again);
  request.set_shared(args.shared);
  request.set_attached(!args.detach);
  for (const ImportFile& file : files) {
    Result<std::string> ticket = Bring(file, *client, context, interrupts);
    if (!ticket.ok()) {
      const Status& why = ticket.status();
      return why.ToString().find(file.name) != std::string::npos ? why : why.In("import " + TerminalText(file.path));
    }
    v1::SubmitImportRequest::Source& source = *request.add_sources();
    source.set_ticket(*std::move(ticket));
    source.set_name(file.told_name);
    if (args.rank) source.set_rank(*args.rank);
    source.set_may_be_none(file.from_folder);
  }
  Result<v1::SubmitImportResponse> submitted = client->SubmitImport(request);
  if (submitted.ok() || submitted.status().code() != ErrorCode::kNoDaemon) return submitted;
  // Whether or not it was heard, the key makes it come out right; a daemon that began anew has no sources of ours.
  ASSIGN_OR_RETURN(client, context.connect());
  return client->SubmitImport(request);
}

}  // namespace

Status RunVerb(const ImportArgs& args, const VerbContext& context) {
  v1::Run run;
  {
    Interrupts interrupts(ExitStatusOf(ErrorCode::kCancelled));
    ASSIGN_OR_RETURN(v1::SubmitImportResponse submitted, Submit(args, context, interrupts));
    run = std::move(*submitted.mutable_run());
    if (submitted.existing()) {
      context.output.Note("the same was imported before, as run " + run.id() + "; --again imports it anew");
    } else if (args.detach) {
      context.output.Write(context.global.json ? RunJsonLine(run) : run.id() + "\n");
      return OkStatus();
    } else {
      const FollowOptions options = {
          .act = "import as", .hold = true, .interrupt_cancels = true, .reconnect_ms = context.reconnect_ms};
      ASSIGN_OR_RETURN(run, FollowRun(context.connect, run.id(), options, interrupts, context.output));
    }
  }
  context.output.Write(context.global.json ? RunJsonLine(run) : ShortReport(run));
  (void)context.output.Flush();
  return OutcomeOf(run);
}

}  // namespace kprof::cli

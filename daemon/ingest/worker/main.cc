// kprof-ingest: takes one file apart for kprofd, which starts it, in a sandbox. Descriptor 3 is a socket to kprofd
// (ingest_protocol.h), 4 the file. For nobody to start by hand.
#include <fcntl.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <new>
#include <string>

#include "daemon/base/worker_pool.h"
#include "daemon/ingest/frame_sink.h"
#include "daemon/ingest/ingest_process.h"
#include "daemon/ingest/ingest_protocol.h"
#include "daemon/ingest/reading_limits.h"
#include "daemon/ingest/source_file.h"
#include "daemon/ingest/source_reader.h"
#include "daemon/ingest/worker/sandbox.h"
#include "storage/base/message_coder.h"

namespace kprof {
namespace {

constexpr int kKeptBytes = 256 << 20;
constexpr auto kBetweenProgress = std::chrono::milliseconds(100);

[[noreturn]] void OnNoMemory() {
  ::_exit(kIngestOutOfMemory);
}

Result<IngestRequest> ReadRequest(int fd) {
  std::string bytes;
  char more[4096];
  while (true) {
    std::string_view rest = bytes;
    ASSIGN_OR_RETURN(const std::optional<ReceivedFrame> frame, TakeFrame(rest));
    if (frame) {
      const std::optional<IngestRequest> request = DecodeIngestRequest(frame->message);
      if (frame->type == IngestFrame::kRequest && request) return *request;
      return Fail(ErrorCode::kInternal, "hear what to read", "kprofd and kprof-ingest are of different builds");
    }
    const ssize_t got = ::read(fd, more, sizeof(more));
    if (got <= 0) return Fail(ErrorCode::kInternal, "hear what to read", "nobody says it");
    bytes.append(more, static_cast<size_t>(got));
  }
}

Result<ReadSourceResult> Read(FrameSink& sink) {
  ASSIGN_OR_RETURN(const IngestRequest request, ReadRequest(kIngestChannelFd));
  ASSIGN_OR_RETURN(const SourceFile source, SourceFile::Open(kIngestSourceFd, request.name));
  RETURN_IF_ERROR(EnterSandbox(request.memory_bytes, request.cpu_seconds));
  WorkerPool pool({.threads = request.threads});
  auto last = std::chrono::steady_clock::time_point();
  const auto progress = [&](int64_t bytes, int64_t events) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last < kBetweenProgress) return;
    last = now;
    // That nobody listens any more is seen when the next segment goes there.
    static_cast<void>(sink.SendNow(IngestFrame::kProgress, EncodeProgress({bytes, events})));
  };
  const SourceReading reading{.format = request.format,
                              .threads = request.threads,
                              .limits = ReadingLimitsFor(request.memory_bytes),
                              .unpacked_bytes = request.unpacked_bytes};
  return ReadSource(source, reading, pool, sink, progress, {});
}

int Run() {
  if (::fcntl(kIngestChannelFd, F_GETFD) < 0 || ::fcntl(kIngestSourceFd, F_GETFD) < 0) {
    std::fprintf(stderr, "kprof-ingest: kprofd starts this program; there is nothing to be done with it by hand\n");
    return 2;
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGPIPE, SIG_IGN);
  std::set_new_handler(OnNoMemory);
  // Rows come and go by the megabyte: what is given back is asked for again at once.
  ::mallopt(M_MMAP_THRESHOLD, kKeptBytes);
  ::mallopt(M_TRIM_THRESHOLD, kKeptBytes);
  FrameSink sink(kIngestChannelFd);
  MessageEncoder hello;
  hello.Add(kIngestProtocol);
  if (!sink.SendNow(IngestFrame::kHello, hello.Take()).ok()) return 1;
  const Result<ReadSourceResult> read = Read(sink);
  const Status told = read.ok()
                          ? sink.SendNow(IngestFrame::kDone, EncodeDone({read->format, read->hash, read->warnings}))
                          : sink.SendNow(IngestFrame::kFailed, EncodeFailure(read.status()));
  // Threads and memory go with the process, and faster than one by one.
  ::_exit(told.ok() ? 0 : 1);
}

}  // namespace
}  // namespace kprof

int main() {
  return kprof::Run();
}

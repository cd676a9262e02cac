// kprof-ingest: takes one file apart for kprofd, which starts it, in a sandbox. Descriptor 3 is a socket to kprofd
// (ingest_protocol.h), 4 the file. For nobody to start by hand.
#include <fcntl.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "daemon/base/worker_pool.h"
#include "daemon/ingest/channel/ingest_process.h"
#include "daemon/ingest/channel/ingest_protocol.h"
#include "daemon/ingest/channel/sandbox.h"
#include "daemon/ingest/source/source_file.h"
#include "daemon/ingest/source/source_formats.h"
#include "daemon/ingest/source_reader.h"
#include "storage/base/message_coder.h"

namespace kprof {
namespace {

constexpr int kKeptBytes = 256 << 20;
constexpr size_t kOrderBytes = 16 << 10;  // of a few orders; a longer one takes more
constexpr auto kBetweenProgress = std::chrono::milliseconds(100);

[[noreturn]] void OnNoMemory() {
  ::_exit(kIngestOutOfMemory);
}

// What kprofd says, a frame at a time. One thread at a time, of which small frames take no memory: a heap of its own
// would be a good part of what the reader may have.
class Orders {
 public:
  Orders() { bytes_.reserve(kOrderBytes); }

  // Blocks. Valid until the next one.
  Result<ReceivedFrame> Next() {
    bytes_.erase(0, taken_);
    taken_ = 0;
    while (true) {
      std::string_view rest = bytes_;
      ASSIGN_OR_RETURN(const std::optional<ReceivedFrame> frame, TakeFrame(rest));
      if (frame) {
        taken_ = bytes_.size() - rest.size();
        return *frame;
      }
      const ssize_t got = ::read(kIngestChannelFd, more_.data(), more_.size());
      if (got <= 0) return Fail(ErrorCode::kInternal, "hear from kprofd", "it says nothing");
      bytes_.append(more_.data(), static_cast<size_t>(got));
    }
  }

 private:
  std::string bytes_;
  size_t taken_ = 0;
  std::array<char, kOrderBytes / 2> more_;
};

Result<IngestRequest> ReadRequest(Orders& orders) {
  ASSIGN_OR_RETURN(const ReceivedFrame frame, orders.Next());
  const std::optional<IngestRequest> request = DecodeIngestRequest(frame.message);
  if (frame.type == IngestFrame::kRequest && request) return *request;
  return Fail(ErrorCode::kInternal, "hear what to read", "kprofd and kprof-ingest are of different builds");
}

// How far the source has come, until it is whole.
void HearGrowth(Orders& orders, SourceGrowth& growth) {
  while (!growth.state().is_whole) {
    const Result<ReceivedFrame> frame = orders.Next();
    if (!frame.ok() || frame->type != IngestFrame::kGrown) return growth.BreakOff();
    const std::optional<SourceGrowth::State> grown = DecodeGrown(frame->message);
    if (!grown) return growth.BreakOff();
    growth.Tell(*grown);
  }
}

Status BeginHearing(Orders& orders, SourceGrowth& growth) {
  try {
    std::thread([&] { HearGrowth(orders, growth); }).detach();
  } catch (const std::system_error&) {
    return Fail(ErrorCode::kInternal, "hear how far the source is", "no thread can be started");
  }
  return OkStatus();
}

// How a source was read, or looked at.
struct Told {
  ReadSourceResult read;
  std::optional<SourceFacts> facts;
};

// `orders` and `growth` outlast it.
Result<Told> Read(FrameSink& sink, Orders& orders, SourceGrowth& growth) {
  ASSIGN_OR_RETURN(const IngestRequest request, ReadRequest(orders));
  ASSIGN_OR_RETURN(const SourceFile source, request.grows
                                                ? SourceFile::OpenGrowing(kIngestSourceFd, request.name, growth)
                                                : SourceFile::Open(kIngestSourceFd, request.name));
  RETURN_IF_ERROR(EnterSandbox(request.memory_bytes, request.cpu_seconds));
  if (request.grows) RETURN_IF_ERROR(BeginHearing(orders, growth));
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
  Told told;
  if (request.look) {
    ASSIGN_OR_RETURN(told.facts, LookAtSource(source, reading, pool));
  } else {
    ASSIGN_OR_RETURN(told.read, ReadSource(source, reading, pool, sink, progress, {}));
  }
  return told;
}

Status Tell(FrameSink& sink, const Result<Told>& told) {
  if (!told.ok()) return sink.SendNow(IngestFrame::kFailed, EncodeFailure(told.status()));
  if (told->facts) return sink.SendNow(IngestFrame::kFacts, EncodeSourceFacts(*told->facts));
  return sink.SendNow(IngestFrame::kDone, EncodeDone({told->read.format, told->read.hash, told->read.warnings}));
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
  // One heap for all threads: that of the first is the one that lies in huge pages.
  ::mallopt(M_ARENA_MAX, 1);
  FrameSink sink(kIngestChannelFd);
  MessageEncoder hello;
  hello.Add(kIngestProtocol);
  if (!sink.SendNow(IngestFrame::kHello, hello.Take()).ok()) return 1;
  Orders orders;  // these two for its thread, which ends with the process
  SourceGrowth growth;
  const Status told = Tell(sink, Read(sink, orders, growth));
  // Threads and memory go with the process, and faster than one by one.
  ::_exit(told.ok() ? 0 : 1);
}

}  // namespace
}  // namespace kprof

int main() {
  return kprof::Run();
}

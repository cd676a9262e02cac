#include "daemon/process/launchers/output_intake.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <optional>
#include <utility>

#include "daemon/launch/output_log.h"
#include "storage/base/packet_socket.h"

namespace kprof {

using boost::asio::posix::stream_descriptor;
using boost::system::error_code;

// Both streams of a run. On `work`, from Begin to the end; kept by its handlers.
class OutputTaking::Streams : public std::enable_shared_from_this<Streams> {
 public:
  struct Source {
    UniqueFd socket;
    UniqueFd log;
  };

  Streams(IoLoop& work, std::shared_ptr<OutputBlock> block, Source out, Source err, UniqueFd progress,
          OutputLimits limits)
      : block_(std::move(block)),
        progress_(std::move(progress)),
        limits_(limits),
        streams_{Stream(work, OutputStream::kStdout, std::move(out)),
                 Stream(work, OutputStream::kStderr, std::move(err))} {}

  // What cannot be watched is not taken: its sender finds nobody there.
  void Begin() {
    for (Stream& stream : streams_) {
      error_code error;
      stream.socket.assign(stream.source.get(), error);
      if (error) {
        cannot_watch_ = error.value();
        Close(stream);
        continue;
      }
      (void)stream.source.Release();
      stream.writer.emplace(stream.log.get(), progress_.get(), stream.which, limits_);
      WaitForMore(stream);
    }
  }

  // Nothing is written any more when it returns.
  int End() {
    for (Stream& stream : streams_) {
      TakeTheRest(stream);
      Close(stream);
    }
    if (cannot_watch_ != 0) return cannot_watch_;
    auto failed = std::find_if(streams_.begin(), streams_.end(),
                               [](const Stream& stream) { return stream.writer && stream.writer->first_error() != 0; });
    return failed == streams_.end() ? 0 : failed->writer->first_error();
  }

 private:
  struct Stream {
    Stream(IoLoop& work, OutputStream which, Source source)
        : which(which), source(std::move(source.socket)), socket(work.context()), log(std::move(source.log)) {}
    const OutputStream which;
    UniqueFd source;  // until Begin
    stream_descriptor socket;
    UniqueFd log;
    std::optional<OutputLogWriter> writer;
  };

  void WaitForMore(Stream& stream) {
    stream.socket.async_wait(stream_descriptor::wait_read,
                             [self = shared_from_this(), &stream](const error_code& error) {
                               if (error || !stream.socket.is_open()) return;
                               if (self->Take(stream, self->block_->size()) < 0) return self->Close(stream);
                               self->WaitForMore(stream);
                             });
  }

  // Returns how much, 0 when nothing was there, or -1 when nothing will come any more.
  ssize_t Take(Stream& stream, size_t most_bytes) {
    most_bytes = std::min(most_bytes, block_->size());
    const ssize_t size = ::recv(stream.socket.native_handle(), block_->data(), most_bytes, MSG_DONTWAIT);
    if (size > 0) {
      stream.writer->Write(std::span<const char>(block_->data(), static_cast<size_t>(size)));
      return size;
    }
    return size < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
  }

  // So much and no more: its sender may never end.
  void TakeTheRest(Stream& stream) {
    int rest_bytes = 0;
    if (!stream.socket.is_open() || ::ioctl(stream.socket.native_handle(), SIOCINQ, &rest_bytes) != 0) return;
    while (rest_bytes > 0) {
      const ssize_t size = Take(stream, static_cast<size_t>(rest_bytes));
      if (size <= 0) return;
      rest_bytes -= static_cast<int>(size);
    }
  }

  static void Close(Stream& stream) {
    error_code ignored;
    stream.socket.close(ignored);
    stream.source.Reset();
    stream.log.Reset();
  }

  const std::shared_ptr<OutputBlock> block_;
  const UniqueFd progress_;
  const OutputLimits limits_;
  int cannot_watch_ = 0;  // errno
  std::array<Stream, 2> streams_;
};

// Its pages cost nothing until somebody prints that much.
OutputIntake::OutputIntake(IoLoop& work, IoLoop& home)
    : work_(work), home_(home), block_(std::make_shared_for_overwrite<OutputBlock>()) {}

Result<std::unique_ptr<OutputTaking>> OutputIntake::Begin(const OutputFiles& files, OutputLimits limits) {
  KPROF_ON_IO_LOOP(home_);
  ASSIGN_OR_RETURN(SocketPair out, MakeSocketPair(SOCK_STREAM));
  ASSIGN_OR_RETURN(SocketPair err, MakeSocketPair(SOCK_STREAM));
  std::array<UniqueFd, 3> copies;
  const std::array<int, 3> originals = {files.stdout_fd, files.stderr_fd, files.progress_fd};
  for (size_t i = 0; i < copies.size(); ++i) {
    copies[i].Reset(::fcntl(originals[i], F_DUPFD_CLOEXEC, 0));
    if (!copies[i].valid()) return FailErrno(errno, "take a run's output", "raise the limit of open files");
  }
  auto& [out_log, err_log, progress] = copies;
  auto streams = std::make_shared<OutputTaking::Streams>(
      work_, block_, OutputTaking::Streams::Source{std::move(out.ours), std::move(out_log)},
      OutputTaking::Streams::Source{std::move(err.ours), std::move(err_log)}, std::move(progress), limits);
  work_.Post([streams] { streams->Begin(); });
  return std::unique_ptr<OutputTaking>(
      new OutputTaking(work_, home_, std::move(streams), std::move(out.theirs), std::move(err.theirs)));
}

OutputTaking::OutputTaking(IoLoop& work, IoLoop& home, std::shared_ptr<Streams> streams, UniqueFd stdout_end,
                           UniqueFd stderr_end)
    : work_(work),
      home_(home),
      streams_(std::move(streams)),
      stdout_end_(std::move(stdout_end)),
      stderr_end_(std::move(stderr_end)) {}

OutputTaking::~OutputTaking() {
  if (streams_) work_.Post([streams = std::move(streams_)] { streams->End(); });
}

OutputFiles OutputTaking::ends() const {
  return {.stdout_fd = stdout_end_.get(), .stderr_fd = stderr_end_.get()};
}

void OutputTaking::GaveEnds() {
  stdout_end_.Reset();
  stderr_end_.Reset();
}

void OutputTaking::Finish(std::function<void(int first_error)> done) {
  KPROF_ON_IO_LOOP(home_);
  work_.Post([streams = std::move(streams_), &home = home_, done = std::move(done)] {
    home.Post([done, first_error = streams->End()] { done(first_error); });
  });
}

OutputThread::OutputThread(IoLoop& home) : loop_(home.clock()), intake_(loop_, home) {
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "kprofd-output");
    loop_.Run();
  });
}

OutputThread::~OutputThread() {
  loop_.Stop();
  thread_.join();
}

}  // namespace kprof

#include "daemon/process/supervisor/command_output.h"

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "daemon/launch/launch_protocol.h"

namespace kprof {
namespace {

constexpr size_t kPieceBytes = 64 << 10;  // what a pipe holds
constexpr int kLastPieces = 16;

}  // namespace

void MetricPipe::Turn() {
  static_cast<void>(Move());
}

void MetricPipe::Close() {
  for (int piece = 0; piece < kLastPieces && Move(); ++piece) {
  }
  pipe_.Reset();
}

bool MetricPipe::Move() {
  if (!pipe_.valid()) return false;
  char piece[kPieceBytes];
  const ssize_t size = ::read(pipe_.get(), piece, sizeof piece);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (size <= 0) {
    pipe_.Reset();
    return false;
  }
  const size_t kept = std::min(static_cast<size_t>(size), most_bytes_ - text_.size());
  text_.append(piece, kept);
  dropped_bytes_ += size - static_cast<ssize_t>(kept);
  return true;
}

pollfd OutputToClient::wait() const {
  return {socket_.get(), static_cast<short>(POLLIN | (is_full() ? POLLOUT : 0)), 0};
}

void OutputToClient::Turn() {
  Hear();
  SendRest();
}

void OutputToClient::Hear() {
  if (!socket_.valid()) return;
  char said = 0;
  const ssize_t size = ::recv(socket_.get(), &said, 1, MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  reader_gone_ = size == 1 && said == kReaderGone;
  Forget();
}

void OutputToClient::Send(std::span<const char> bytes) {
  if (rest_.empty()) bytes = bytes.subspan(SendSome(bytes));
  if (socket_.valid()) rest_.append(bytes.data(), bytes.size());
}

void OutputToClient::SendRest() {
  rest_.erase(0, SendSome(rest_));
}

// Returns how many it took.
size_t OutputToClient::SendSome(std::span<const char> bytes) {
  size_t sent_bytes = 0;
  while (socket_.valid() && sent_bytes < bytes.size()) {
    const ssize_t size =
        ::send(socket_.get(), bytes.data() + sent_bytes, bytes.size() - sent_bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (size > 0) {
      sent_bytes += static_cast<size_t>(size);
    } else if (size < 0 && errno == EAGAIN) {
      break;
    } else if (size == 0 || errno != EINTR) {
      Hear();  // its last word may lie there
      Forget();
    }
  }
  return sent_bytes;
}

void OutputToClient::Forget() {
  socket_.Reset();
  rest_.clear();
}

namespace {

// One for all: there is one thread. Its pages cost nothing until a command prints that much.
char block[256 << 10];

constexpr int kLastTurns = 64;  // of a block each: many times what a pipe can hold

}  // namespace

std::string CommandOutput::TakeTail() {
  std::string tail = std::exchange(tail_, {});
  if (tail.size() > kTailBytes) tail.erase(0, tail.size() - kTailBytes);
  return tail;
}

void CommandOutput::Remember(std::span<const char> bytes) {
  if (!keeps_tail_) return;
  if (bytes.size() > kTailBytes) bytes = bytes.last(kTailBytes);
  if (tail_.size() > 2 * kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
  tail_.append(bytes.data(), bytes.size());
}

bool OutputToLog::Move() {
  if (!pipe_.valid()) return false;
  ssize_t size = ::read(pipe_.get(), block, sizeof block);
  if (size > 0) {
    const std::span<const char> piece(block, static_cast<size_t>(size));
    log_.Write(piece);
    Remember(piece);
    client_.Send(piece);
    return true;
  }
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  pipe_.Reset();
  return false;
}

void OutputToLog::Close() {
  for (int turn = 0; turn < kLastTurns && Move(); ++turn) {
  }
  pipe_.Reset();
}

namespace {

constexpr size_t kBlockBytes = 256 << 10;

}  // namespace

// The block's pages cost nothing until a command prints that much.
OutputToDaemon::OutputToDaemon(UniqueFd pipe, UniqueFd client, UniqueFd socket)
    : CommandOutput(std::move(pipe), std::move(client)),
      socket_(std::move(socket)),
      block_(std::make_unique_for_overwrite<char[]>(kBlockBytes)) {}

pollfd OutputToDaemon::wait() const {
  if (!rest_.empty()) return {socket_.get(), POLLOUT, 0};
  return {client_.is_full() ? -1 : pipe_.get(), POLLIN, 0};
}

void OutputToDaemon::Turn() {
  if (rest_.empty() && !client_.is_full()) Read();
  Send();
}

void OutputToDaemon::Close() {
  int present_bytes = 0;
  if (pipe_.valid() && ::ioctl(pipe_.get(), FIONREAD, &present_bytes) != 0) present_bytes = 0;
  last_bytes_ = present_bytes;
  if (last_bytes_ == 0) pipe_.Reset();
}

void OutputToDaemon::Read() {
  if (!pipe_.valid()) return;
  const size_t wanted = last_bytes_ < 0 ? kBlockBytes : std::min(kBlockBytes, static_cast<size_t>(last_bytes_));
  const ssize_t size = ::read(pipe_.get(), block_.get(), wanted);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return pipe_.Reset();
  printed_bytes_ += size;
  rest_ = {block_.get(), static_cast<size_t>(size)};
  Remember(rest_);
  client_.Send(rest_);
  if (last_bytes_ < 0) return;
  last_bytes_ -= size;
  if (last_bytes_ == 0) pipe_.Reset();
}

void OutputToDaemon::Send() {
  while (!rest_.empty() && socket_.valid()) {
    const ssize_t sent = ::send(socket_.get(), rest_.data(), rest_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      rest_ = rest_.subspan(static_cast<size_t>(sent));
    } else if (sent < 0 && errno == EAGAIN) {
      return;
    } else if (sent == 0 || errno != EINTR) {
      socket_.Reset();
    }
  }
  dropped_bytes_ += static_cast<int64_t>(rest_.size());
  rest_ = {};
}

}  // namespace kprof

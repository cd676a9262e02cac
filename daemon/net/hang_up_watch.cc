#include "daemon/net/hang_up_watch.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <unordered_map>
#include <utility>

namespace kprof {

namespace asio = boost::asio;

struct HangUpWatch::State {
  struct Watched {
    UniqueFd fd;
    std::function<void()> gone;
  };

  State(IoLoop& loop, UniqueFd epoll) : loop(loop), epoll(loop.context(), epoll.Release()) {}

  void WaitForNext() {
    epoll.async_wait(asio::posix::stream_descriptor::wait_read, [this](const boost::system::error_code& error) {
      if (!error) TakeAll();
    });
  }

  void TakeAll() {
    std::array<epoll_event, 64> events;
    int count = 0;
    do {
      count = ::epoll_wait(epoll.native_handle(), events.data(), static_cast<int>(events.size()), 0);
      for (int i = 0; i < count; ++i) Take(events[static_cast<size_t>(i)].data.u64);
    } while (count == static_cast<int>(events.size()));
    WaitForNext();
  }

  void Take(Id id) {
    auto found = watched.find(id);
    if (found == watched.end()) return;
    Watched ended = std::move(found->second);
    watched.erase(found);
    // Before the close: a duplicate that is still open elsewhere would keep the entry.
    ::epoll_ctl(epoll.native_handle(), EPOLL_CTL_DEL, ended.fd.get(), nullptr);
    ended.fd.Reset();
    ended.gone();
  }

  IoLoop& loop;
  asio::posix::stream_descriptor epoll;
  std::unordered_map<Id, Watched> watched;
  Id next_id = 1;
};

HangUpWatch::HangUpWatch(std::unique_ptr<State> state) : state_(std::move(state)) {}
HangUpWatch::~HangUpWatch() = default;

Result<std::unique_ptr<HangUpWatch>> HangUpWatch::Create(IoLoop& loop) {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return FailErrno(errno, "watch connections", "raise the limit of open files");
  auto state = std::make_unique<State>(loop, std::move(epoll));
  state->WaitForNext();
  return std::unique_ptr<HangUpWatch>(new HangUpWatch(std::move(state)));
}

Result<HangUpWatch::Id> HangUpWatch::Add(UniqueFd duplicate, std::function<void()> gone) {
  KPROF_ON_IO_LOOP(state_->loop);
  const Id id = state_->next_id++;
  epoll_event nothing_but_the_end{.events = 0, .data = {.u64 = id}};
  if (::epoll_ctl(state_->epoll.native_handle(), EPOLL_CTL_ADD, duplicate.get(), &nothing_but_the_end) != 0) {
    return FailErrno(errno, "watch a connection", "raise the limit of open files");
  }
  state_->watched.emplace(id, State::Watched{std::move(duplicate), std::move(gone)});
  return id;
}

void HangUpWatch::EndReading(Id id) {
  KPROF_ON_IO_LOOP(state_->loop);
  auto found = state_->watched.find(id);
  if (found != state_->watched.end()) ::shutdown(found->second.fd.get(), SHUT_RD);
}

int HangUpWatch::Find(Id id) const {
  auto found = state_->watched.find(id);
  return found == state_->watched.end() ? -1 : found->second.fd.get();
}

}  // namespace kprof

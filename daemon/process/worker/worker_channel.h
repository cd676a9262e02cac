// One life of a worker process that calls a vendor's library: from its start until nothing is left of it. It may hang
// in a call for ever; that is noticed here, by the page that it notes its calls in, and told once. What packets mean is
// for whoever has this.
//
// It is a child of ours, or, where that takes rights that we lack, one that the root helper starts: of that we see its
// end by its socket, and cannot kill it.
//
// Io loop only. Never blocks. Kept by its handlers until the process is reaped, which for one that hangs in the kernel
// is when it comes out of it: it may outlive its owner, who calls Forget. `loop` and `own` must outlive it.
#pragma once

#include <sys/types.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/io_loop.h"
#include "daemon/process/helper_client/helper_link.h"
#include "daemon/process/worker/call_page.h"
#include "daemon/process/worker/worker_process.h"
#include "storage/base/descriptors.h"
#include "storage/base/packet_socket.h"
#include "storage/base/status.h"

namespace kprof {

class WorkerChannel : public std::enable_shared_from_this<WorkerChannel> {
 public:
  struct Program {
    std::string path;
    std::vector<std::string> arguments;
    size_t packet_limit_bytes = 0;
    int64_t call_limit_ns = 0;   // one call of the library that takes longer hangs
    int64_t first_limit_ns = 0;  // the same until it has said something, where that is more: it wakes a device, say
    OwnChildren* own = nullptr;
    // With it, it is the helper that starts one, of whatever program it has for that request.
    HelperLink* helper = nullptr;
    HelperMessage request = {};
  };
  struct Events {
    std::function<void(const std::string&)> packet;
    // A call takes longer than the limit, and is waited for, because it has said nothing yet (first_limit_ns).
    std::function<void(const Status&)> slow;
    // It is of no use any more: it has ended, or hangs (kTimedOut: in which call, and since when), or breaks the form.
    // Once, and no packet comes after it.
    std::function<void(const Status&)> over;
    // Nothing is left of it. Once, after `over`.
    std::function<void()> reaped;
  };

  // Events are called from the loop, never from inside.
  static Result<std::shared_ptr<WorkerChannel>> Start(IoLoop& loop, const Program& program, Events events);
  WorkerChannel(IoLoop& loop, const Program& program, Events events, CallPage page);

  void Send(const std::string& bytes);

  // Whether it owes us something: only then is it looked at whether it hangs.
  void Expect(bool something);

  // Its socket ends, upon which it does as well. Of the events only `reaped` comes.
  void Close();
  // And killed, for one that need not finish anything, or hangs. One of the helper's ends such a call by itself.
  void Kill();
  // No event comes any more.
  void Forget() { events_ = {}; }

  pid_t pid() const { return pid_; }
  // False: it was never there, for the helper has started none. Until it has said so it may have been.
  bool may_have_begun() const { return may_have_begun_; }

 private:
  Status Begin(SocketPair ends);
  Status BeginChild(const UniqueFd& theirs);
  Status AskHelper(UniqueFd theirs);
  void Receive();
  // For packets, and of what is no child of ours also for its end.
  bool listens() const { return socket_.is_open() && (!over_ || program_.helper != nullptr); }
  void LookAgainAt(int64_t mono_ns);
  void LookWhetherItHangs();
  void End(const Status& why);
  void OnExit();
  void OnSocketEnd();
  void OnOver(const std::string& how, const std::string& remedy);

  IoLoop& loop_;
  const Program program_;
  Events events_;
  CallPage page_;
  pid_t pid_ = -1;  // of one that the helper has started it is not known
  boost::asio::posix::stream_descriptor socket_;
  boost::asio::posix::stream_descriptor exit_;
  IoLoop::Timer look_;
  bool expects_ = false;
  bool has_spoken_ = false;
  int64_t slow_since_mono_ns_ = 0;  // of the call that was told as slow
  bool over_ = false;
  bool awaits_helper_ = false;
  bool may_have_begun_ = true;
  bool socket_has_ended_ = false;
  int64_t heard_mono_ns_ = 0;  // of it, or began to expect something
};

}  // namespace kprof

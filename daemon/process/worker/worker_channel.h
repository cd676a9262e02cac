// One life of a worker process that calls a vendor's library: from its start until nothing is left of it. It may hang
// in a call for ever; that is noticed here, by the page that it notes its calls in, and told once. The meaning of
// packets is its owner's.
//
// The process is a child of ours; or one that the root helper starts, where it needs rights that we lack. We see the
// end of the helper's process by its socket, and cannot kill it.
//
// Io loop only. Never blocks. Kept by its handlers until the process is reaped. A process that hangs in the kernel is
// reaped when it comes out of it, so this may outlive its owner, who calls Forget. `loop` and `own` must outlive it.
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
    int64_t first_limit_ns = 0;  // the same until its first packet, where that is more: it wakes a device, say
    OwnChildren* own = nullptr;
    // Not null: the helper starts the process, as `request` says, from a program of its own.
    HelperLink* helper = nullptr;
    HelperMessage request = {};
  };
  struct Events {
    std::function<void(const std::string&)> packet;
    // A call takes longer than the limit but is waited for, because no packet has come yet (first_limit_ns).
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

  // True: the process owes us something. Only then is it watched for a hang.
  void Expect(bool something);

  // Closes its socket, upon which it ends as well. After this only `reaped` comes.
  void Close();
  // Also kills it: it need not finish anything, or hangs. A process of the helper's ends a call that hangs by itself
  // (CallPage::EndProcessAfter).
  void Kill();
  // No event comes any more.
  void Forget() { events_ = {}; }

  pid_t pid() const { return pid_; }
  // False: the helper has said that it started none. Before the helper answers, one may have begun.
  bool may_have_begun() const { return may_have_begun_; }

 private:
  Status Begin(SocketPair ends);
  Status BeginChild(const UniqueFd& theirs);
  Status AskHelper(UniqueFd theirs);
  void Receive();
  // For packets; where it is no child of ours, also for its end.
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
  pid_t pid_ = -1;  // -1: the helper has started it, or it is reaped
  boost::asio::posix::stream_descriptor socket_;
  boost::asio::posix::stream_descriptor exit_;
  IoLoop::Timer look_;
  bool expects_ = false;
  bool has_spoken_ = false;
  int64_t slow_since_mono_ns_ = 0;  // begin of the call that was told as slow
  bool over_ = false;
  bool awaits_helper_ = false;
  bool may_have_begun_ = true;
  bool socket_has_ended_ = false;
  int64_t heard_mono_ns_ = 0;  // when we last heard of it, or began to expect something
};

}  // namespace kprof

// kprofd's end of helper_protocol.h. Connects when there is something to ask, and again when the helper was restarted;
// whoever asks waits for that, within the request's time. Each question is answered once.
//
// Io loop only. Never blocks: a helper that hangs costs its requests their time, 10 s each (a sweep 20 s), and nothing
// else. At most 1,000 wait; one more fails at once with kQueueFull. `loop` must outlive it; what was not answered when
// it is destroyed never is.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "daemon/base/io_loop.h"
#include "daemon/process/helper_protocol.h"
#include "storage/base/packet_socket.h"
#include "storage/base/status.h"
#include "storage/base/unique_fd.h"

namespace kprof {

class HelperLink {
 public:
  // An answer that is no refusal, with the file that comes with it; or why there is none. kNoDaemon: the helper is not
  // there. kLostDaemon: it went away over a Start, which may have happened. kTimedOut: it does not answer. Else what it
  // refused for.
  using Answered = std::function<void(Result<HelperMessage>, UniqueFd file)>;

  HelperLink(IoLoop& loop, std::string socket_path);
  ~HelperLink();
  HelperLink(const HelperLink&) = delete;
  HelperLink& operator=(const HelperLink&) = delete;

  // `answered` is called from the loop, never from inside. `file` goes with the request and is closed after it.
  void Ask(HelperMessage request, UniqueFd file, Answered answered);

 private:
  struct Request {
    HelperMessage message;
    UniqueFd file;
    Answered answered;
    IoLoop::Timer limit;
    bool sent = false;
    bool repeated = false;  // the connection broke over it
  };

  void Connect();
  void ConnectLater();
  void Disconnect();
  void SendAll();
  void Receive();
  // Whether it was in the protocol's form.
  bool Take(const Packet& packet, UniqueFd file);
  void Answer(uint32_t tag, Result<HelperMessage> answer, UniqueFd file);

  IoLoop& loop_;
  const std::string socket_path_;
  boost::asio::posix::stream_descriptor socket_;
  bool greeted_ = false;
  bool waits_to_send_ = false;
  IoLoop::Timer connect_again_;
  IoLoop::Timer send_soon_;
  uint32_t last_tag_ = 0;
  std::map<uint32_t, Request> requests_;  // by tag: in the order of asking
};

}  // namespace kprof

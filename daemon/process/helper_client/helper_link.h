// kprofd's end of helper_protocol.h. Connects when there is something to ask, and again when the helper was restarted;
// a question waits for that within its time. Each question is answered once.
//
// A run is forgotten whatever happens to the helper. Its id is kept until the helper has said that its grant is gone,
// and takes no room from the questions. The ids that are left when this daemon dies are found by the next one
// (helper_grants.h).
//
// Io loop only. Never blocks: a helper that hangs costs each request its time and nothing else: 10 s; a sweep 20 s, a
// registration 15 s, a Start 10 minutes (its caller waits less). WhereIs, which a new connection waits for, waits only
// for a helper that was there 2 s ago. At most 1,000 requests wait; one more fails at once with kQueueFull, except
// Start and Sweep, which the number of runs with devices bounds. Requests that users can cause without end take turns
// before (helper_grants.h, container_check_queue.h). `loop` must outlive it; a question that is open when it is
// destroyed is never answered.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/io_loop.h"
#include "daemon/process/helper_client/helper_protocol.h"
#include "storage/base/descriptors.h"
#include "storage/base/packet_socket.h"
#include "storage/base/status.h"

namespace kprof {

class HelperLink {
 public:
  // The helper gives itself 10 s, and says what hangs.
  static constexpr int64_t kRegisterLimitNs = 15 * kNanosPerSecond;

  using Tag = uint32_t;  // never 0

  // The answer, with the file that comes with it, or why there is none. kNoDaemon: the helper is not there.
  // kLostDaemon: it went away over a Start or a HoldClocks, which may have happened. kTimedOut: it does not answer.
  // Otherwise the code and reason of its refusal.
  using Answered = std::function<void(Result<HelperMessage>, UniqueFd file)>;

  HelperLink(IoLoop& loop, std::string socket_path);
  ~HelperLink();
  HelperLink(const HelperLink&) = delete;
  HelperLink& operator=(const HelperLink&) = delete;

  // `silent` is called from the loop, after the question's own answer, whenever the helper has not answered one: it is
  // not there, went away, or is silent. Set it before the first question.
  void OnSilence(std::function<void()> silent) { silent_ = std::move(silent); }

  // `answered` is called from the loop, never from inside. The files that go with the request are closed after it.
  Tag Ask(HelperMessage request, std::vector<UniqueFd> files, Answered answered);
  Tag Ask(HelperMessage request, UniqueFd file, Answered answered);

  // Takes the question back if it was not sent yet: it is never asked, nor answered. Otherwise returns false and
  // changes nothing.
  bool Withdraw(Tag tag);

  // The run's grant is not needed any more. If 100,000 wait because nobody answers, one more is dropped.
  void Forget(const std::string& run_id);

 private:
  struct Request {
    HelperMessage message;
    std::vector<UniqueFd> files;
    Answered answered;
    IoLoop::Timer limit;
    IoLoop::Timer silence;  // tells silent_ after 10 s, before the limit
    bool sent = false;
    bool repeated = false;  // the connection broke over it
  };

  void SendSoon();
  void Connect();
  void ConnectLater();
  // No helper is there: fails the requests that do not wait for one.
  void AnswerImpatient();
  bool may_come_back() const;
  Status NobodyIsThere() const;
  void Disconnect();
  void SendAll();
  void SendForgets();
  // True if it was sent; else it is tried again when the socket has room.
  bool Send(uint32_t tag, const HelperMessage& message, const std::vector<int>& files);
  void Receive();
  // True if it was in the protocol's form.
  bool Take(const Packet& packet, UniqueFd file);
  // True: it answers a Forget that is under way.
  bool TakeForgotten(const HelperPacket& packet);
  void Answer(uint32_t tag, Result<HelperMessage> answer, UniqueFd file);
  void GiveUp(uint32_t tag, const Status& why);

  IoLoop& loop_;
  const std::string socket_path_;
  std::function<void()> silent_;
  boost::asio::posix::stream_descriptor socket_;
  bool greeted_ = false;
  std::optional<int64_t> lost_mono_ns_;  // when a helper that had greeted us was last lost
  bool said_foreign_ = false;            // in the log, since it last greeted us
  bool waits_to_send_ = false;
  IoLoop::Timer connect_again_;
  IoLoop::Timer send_soon_;
  uint32_t last_tag_ = 0;
  std::map<uint32_t, Request> requests_;        // by tag: in the order of asking
  std::set<std::string> to_forget_;             // not sent, or to be sent again
  std::map<uint32_t, std::string> forgetting_;  // by tag: sent over this connection
  IoLoop::Timer forget_again_;
};

}  // namespace kprof

// kprofd's end of helper_protocol.h. Connects when there is something to ask, and again when the helper was restarted;
// whoever asks waits for that, within the request's time. Each question is answered once.
//
// A run is forgotten whatever happens to the helper: its id is kept until the helper has said that its grant is gone,
// and waits for room instead of taking it from the questions. What is left when this daemon dies the next one asks for
// (helper_grants.h).
//
// Io loop only. Never blocks: a helper that hangs costs its requests their time, 10 s each (a sweep 20 s, a
// registration 15 s; a Start has 10 minutes, and whoever asks for one waits less), and nothing else. WhereIs, for which
// somebody waits who has connected, waits for a helper that was there 2 s ago, and for no other. At most 1,000 wait;
// one more fails at once with kQueueFull, but for Start and Sweep, which are bounded by the runs that have devices. Who
// asks for what users may ask for without end has them take turns before (helper_grants.h,
// container_check_queue.h). `loop` must outlive it; what was not answered when it is destroyed never is.
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

  // An answer that is no refusal, with the file that comes with it; or why there is none. kNoDaemon: the helper is not
  // there. kLostDaemon: it went away over a Start, which may have happened. kTimedOut: it does not answer. Else what it
  // refused for.
  using Answered = std::function<void(Result<HelperMessage>, UniqueFd file)>;

  HelperLink(IoLoop& loop, std::string socket_path);
  ~HelperLink();
  HelperLink(const HelperLink&) = delete;
  HelperLink& operator=(const HelperLink&) = delete;

  // Called from the loop, after the question's own answer, whenever the helper has not answered one: it is not there,
  // went away, or is silent. Before the first question.
  void OnSilence(std::function<void()> silent) { silent_ = std::move(silent); }

  // `answered` is called from the loop, never from inside. What goes with the request is closed after it.
  Tag Ask(HelperMessage request, std::vector<UniqueFd> files, Answered answered);
  Tag Ask(HelperMessage request, UniqueFd file, Answered answered);

  // Never asks it, and never answers, if it was not sent yet. Else returns false, and changes nothing.
  bool Withdraw(Tag tag);

  // The run's grant is not needed any more. Of 100,000 that wait because nobody answers, one more is dropped.
  void Forget(const std::string& run_id);

 private:
  struct Request {
    HelperMessage message;
    std::vector<UniqueFd> files;
    Answered answered;
    IoLoop::Timer limit;
    IoLoop::Timer silence;  // somebody should look whether it is there, long before the limit
    bool sent = false;
    bool repeated = false;  // the connection broke over it
  };

  void SendSoon();
  void Connect();
  void ConnectLater();
  // Nobody is there for those who do not wait.
  void AnswerImpatient();
  bool may_come_back() const;
  Status NobodyIsThere() const;
  void Disconnect();
  void SendAll();
  void SendForgets();
  // Whether it went; else it is tried again when it may.
  bool Send(uint32_t tag, const HelperMessage& message, const std::vector<int>& files);
  void Receive();
  // Whether it was in the protocol's form.
  bool Take(const Packet& packet, UniqueFd file);
  // The answer to a Forget that is under way; false: it is to something else.
  bool TakeForgotten(const HelperPacket& packet);
  void Answer(uint32_t tag, Result<HelperMessage> answer, UniqueFd file);
  // There is none.
  void GiveUp(uint32_t tag, const Status& why);

  IoLoop& loop_;
  const std::string socket_path_;
  std::function<void()> silent_;
  boost::asio::posix::stream_descriptor socket_;
  bool greeted_ = false;
  std::optional<int64_t> lost_mono_ns_;  // when it was last lost that had greeted us
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

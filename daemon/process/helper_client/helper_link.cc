#include "daemon/process/helper_client/helper_link.h"

#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/base/log.h"

namespace kprof {
namespace {

using boost::asio::posix::stream_descriptor;
using boost::system::error_code;

constexpr size_t kMostRequests = 1000;
constexpr int64_t kAnswerLimitNs = 10 * kNanosPerSecond;
constexpr int64_t kSweepLimitNs = 20 * kNanosPerSecond;         // it gives itself 15 s
constexpr int64_t kHelperStartLimitNs = 600 * kNanosPerSecond;  // whoever asks gives up before (helper_launcher.h)
constexpr int64_t kConnectAgainNs = 100 * kNanosPerMilli;
constexpr int64_t kComesBackNs = 2 * kNanosPerSecond;  // when it is restarted
constexpr size_t kMostToForget = 100'000;
constexpr size_t kMostForgetting = 8;                     // at a time: the helper syncs its disk for each
constexpr int64_t kForgetAgainNs = 10 * kNanosPerSecond;  // after a refusal, or when there is no helper

constexpr const char* kLinkWhat = "ask kprofd-helper";
constexpr const char* kLinkRemedy = "see 'systemctl status kprofd-helper' and its journal";

// A second Start could find the grant used up by the first; whoever asked knows what that means.
bool MayRepeat(const HelperMessage& message) {
  return !std::holds_alternative<HelperStart>(message) && !std::holds_alternative<HelperHoldClocks>(message);
}

bool IsImpatient(const HelperMessage& message) {
  return std::holds_alternative<HelperWhereIs>(message);
}

bool Registers(const HelperMessage& message) {
  return std::holds_alternative<HelperRegister>(message) || std::holds_alternative<HelperRegisterRemote>(message);
}

// As many as there are runs that have their devices, or had: none of them may come to nothing because others ask much.
bool IsOfAStartedRun(const HelperMessage& message) {
  return std::holds_alternative<HelperStart>(message) || std::holds_alternative<HelperSweep>(message);
}

int64_t LimitNsOf(const HelperMessage& message) {
  if (std::holds_alternative<HelperSweep>(message)) return kSweepLimitNs;
  if (std::holds_alternative<HelperStart>(message)) return kHelperStartLimitNs;
  return Registers(message) ? HelperLink::kRegisterLimitNs : kAnswerLimitNs;
}

bool IsRegisteredAlready(const HelperMessage& request, const HelperMessage& answer) {
  const auto* refused = std::get_if<HelperRefused>(&answer);
  return Registers(request) && refused != nullptr && refused->code == ErrorCode::kUsage;
}

}  // namespace

HelperLink::HelperLink(IoLoop& loop, std::string socket_path)
    : loop_(loop), socket_path_(std::move(socket_path)), socket_(loop.context()) {}

HelperLink::~HelperLink() {
  error_code ignored;
  socket_.close(ignored);
}

HelperLink::Tag HelperLink::Ask(HelperMessage request, UniqueFd file, Answered answered) {
  std::vector<UniqueFd> files;
  if (file.valid()) files.push_back(std::move(file));
  return Ask(std::move(request), std::move(files), std::move(answered));
}

HelperLink::Tag HelperLink::Ask(HelperMessage request, std::vector<UniqueFd> files, Answered answered) {
  KPROF_ON_IO_LOOP(loop_);
  const Tag tag = ++last_tag_;
  const bool full = requests_.size() >= kMostRequests && !IsOfAStartedRun(request);
  const int64_t limit_ns = LimitNsOf(request);
  Request& waiting = requests_[tag];
  waiting.message = std::move(request);
  waiting.files = std::move(files);
  waiting.answered = std::move(answered);
  if (full) {
    waiting.limit = loop_.After(0, [this, tag] {
      Answer(tag, Fail(ErrorCode::kQueueFull, kLinkWhat, "too many requests wait for kprofd-helper", "try again"),
             UniqueFd());
    });
    return tag;
  }
  waiting.silence = loop_.After(kAnswerLimitNs, [this] {
    if (silent_) silent_();
  });
  waiting.limit = loop_.After(limit_ns, [this, tag] {
    const bool heard = requests_.at(tag).sent || greeted_;
    GiveUp(tag, heard ? Fail(ErrorCode::kTimedOut, kLinkWhat, "kprofd-helper does not answer", kLinkRemedy)
                      : NobodyIsThere());
  });
  SendSoon();
  return tag;
}

bool HelperLink::Withdraw(Tag tag) {
  KPROF_ON_IO_LOOP(loop_);
  auto waiting = requests_.find(tag);
  if (waiting == requests_.end() || waiting->second.sent) return false;
  requests_.erase(waiting);
  return true;
}

Status HelperLink::NobodyIsThere() const {
  return Fail(ErrorCode::kNoDaemon, kLinkWhat, "kprofd-helper is not there (nobody answers at " + socket_path_ + ")",
              kLinkRemedy);
}

void HelperLink::Forget(const std::string& run_id) {
  KPROF_ON_IO_LOOP(loop_);
  if (to_forget_.size() >= kMostToForget) return;
  to_forget_.insert(run_id);
  SendSoon();
}

// Later: a request that cannot be sent is not answered from inside.
void HelperLink::SendSoon() {
  send_soon_ = loop_.After(0, [this] { socket_.is_open() ? SendAll() : Connect(); });
}

void HelperLink::Connect() {
  if (socket_.is_open() || (requests_.empty() && to_forget_.empty())) return;
  Result<UniqueFd> socket = ConnectPacketSocket(socket_path_);
  if (!socket.ok()) {
    if (!may_come_back()) AnswerImpatient();
    return ConnectLater();
  }
  error_code error;
  socket_.assign(socket->get(), error);
  if (error) return ConnectLater();
  socket->Release();
  if (SendPacket(socket_.native_handle(), EncodeHelperPacket({0, HelperHello{}})) != 0) return Disconnect();
  Receive();
}

void HelperLink::ConnectLater() {
  connect_again_ = loop_.After(requests_.empty() ? kForgetAgainNs : kConnectAgainNs, [this] { Connect(); });
}

bool HelperLink::may_come_back() const {
  return lost_mono_ns_ && loop_.clock().mono_ns() - *lost_mono_ns_ < kComesBackNs;
}

void HelperLink::AnswerImpatient() {
  std::vector<uint32_t> impatient;
  for (const auto& [tag, request] : requests_) {
    if (IsImpatient(request.message)) impatient.push_back(tag);
  }
  for (uint32_t tag : impatient) {
    GiveUp(tag, NobodyIsThere());
  }
}

void HelperLink::Disconnect() {
  error_code ignored;
  socket_.close(ignored);
  waits_to_send_ = false;
  std::vector<uint32_t> lost;
  for (auto& [tag, request] : requests_) {
    if (!request.sent) continue;
    request.sent = false;
    request.repeated = true;
    if (!MayRepeat(request.message)) lost.push_back(tag);
  }
  for (uint32_t tag : lost) {
    GiveUp(tag, Fail(ErrorCode::kLostDaemon, kLinkWhat, "kprofd-helper went away before it answered", kLinkRemedy));
  }
  if (greeted_) lost_mono_ns_ = loop_.clock().mono_ns();
  if (!std::exchange(greeted_, false)) AnswerImpatient();
  for (auto& [tag, run_id] : forgetting_) to_forget_.insert(std::move(run_id));
  forgetting_.clear();
  if (!requests_.empty() || !to_forget_.empty()) ConnectLater();
}

bool HelperLink::Send(uint32_t tag, const HelperMessage& message, const std::vector<int>& files) {
  const int error = SendPacket(socket_.native_handle(), EncodeHelperPacket({tag, message}), files);
  if (error == EAGAIN) {
    waits_to_send_ = true;
    socket_.async_wait(stream_descriptor::wait_write, [this](const error_code& error) {
      if (error) return;
      waits_to_send_ = false;
      SendAll();
    });
  } else if (error != 0) {
    Disconnect();
  }
  return error == 0;
}

void HelperLink::SendAll() {
  if (!socket_.is_open() || !greeted_ || waits_to_send_) return;
  SendForgets();
  if (!socket_.is_open() || waits_to_send_) return;
  for (auto& [tag, request] : requests_) {
    if (request.sent) continue;
    std::vector<int> files;
    for (const UniqueFd& file : request.files) files.push_back(file.get());
    if (!Send(tag, request.message, files)) return;
    request.sent = true;
    // That it is closed here is what tells of a supervisor, or a guard, that was never started.
    if (!MayRepeat(request.message)) request.files.clear();
  }
}

void HelperLink::SendForgets() {
  while (!waits_to_send_ && !to_forget_.empty() && forgetting_.size() < kMostForgetting) {
    const uint32_t tag = ++last_tag_;
    if (!Send(tag, HelperForget{*to_forget_.begin()}, {})) return;
    forgetting_.emplace(tag, std::move(to_forget_.extract(to_forget_.begin()).value()));
  }
}

bool HelperLink::TakeForgotten(const HelperPacket& packet) {
  auto sent = forgetting_.extract(packet.tag);
  if (sent.empty()) return false;
  if (!std::holds_alternative<HelperRefused>(packet.message)) {
    SendForgets();
    return true;
  }
  // Its disk, as a rule: it has said so in its own log.
  LogWarning("kprofd-helper did not forget a run; it is asked again", {{"run", sent.mapped()}});
  to_forget_.insert(std::move(sent.mapped()));
  forget_again_ = loop_.After(kForgetAgainNs, [this] { SendSoon(); });
  return true;
}

void HelperLink::Receive() {
  socket_.async_wait(stream_descriptor::wait_read, [this](const error_code& error) {
    if (error) return;
    while (socket_.is_open()) {
      Packet packet;
      const int failed = ReceivePacket(socket_.native_handle(), kHelperPacketLimitBytes, packet);
      if (failed == EAGAIN) return Receive();
      if (failed != 0 || packet.end) return Disconnect();
      UniqueFd file;
      if (packet.files.size() == 1) file = std::move(packet.files.front());
      if (packet.cut || packet.files.size() > 1 || !Take(packet, std::move(file))) {
        if (!said_foreign_) LogError("kprofd-helper speaks another protocol; install both from the same package");
        said_foreign_ = true;
        return Disconnect();
      }
    }
  });
}

bool HelperLink::Take(const Packet& packet, UniqueFd file) {
  Result<HelperPacket> decoded = DecodeHelperPacket(packet.bytes);
  if (!decoded.ok() || packet.files.size() != FilesOf(decoded->message)) return false;
  if (const auto* hello = std::get_if<HelperHello>(&decoded->message)) {
    if (hello->version != kHelperProtocolVersion) return false;
    greeted_ = true;
    said_foreign_ = false;
    SendAll();
    return true;
  }
  if (TakeForgotten(*decoded)) return true;
  auto waiting = requests_.find(decoded->tag);
  if (waiting == requests_.end() || !waiting->second.sent) return true;  // it was given up
  const auto* refused = std::get_if<HelperRefused>(&decoded->message);
  if (refused == nullptr) {
    Answer(decoded->tag, std::move(decoded->message), std::move(file));
  } else if (waiting->second.repeated && IsRegisteredAlready(waiting->second.message, decoded->message)) {
    Answer(decoded->tag, HelperMessage(HelperDone{}), UniqueFd());  // by us, before the helper went away
  } else {
    Answer(decoded->tag, Fail(refused->code, kLinkWhat, refused->why, refused->remedy), UniqueFd());
  }
  return true;
}

void HelperLink::GiveUp(uint32_t tag, const Status& why) {
  Answer(tag, why, UniqueFd());
  if (silent_) silent_();
}

void HelperLink::Answer(uint32_t tag, Result<HelperMessage> answer, UniqueFd file) {
  auto waiting = requests_.find(tag);
  Answered answered = std::move(waiting->second.answered);
  requests_.erase(waiting);
  answered(std::move(answer), std::move(file));
}

}  // namespace kprof

#include "daemon/process/launchers/client_launcher.h"

#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "daemon/process/launchers/remote_supervisor.h"
#include "daemon/process/launchers/supervisor_channel.h"

namespace kprof {
namespace {

// The lock that tells whether anybody is left of a supervisor that another daemon launched. Its progress file, opened
// for reading, is locked (flock) and handed over. The lock belongs to every process that holds that open file: the
// supervisor, its guard, the daemon of then. When all of them are gone, and with them what they look after
// (supervisor_guard.h), it is free. Nothing is written, no process is looked for, and a pid that is used anew deceives
// nobody. The holders are processes of the run's own user, and so it is their word. Any thread; waits for nobody.

// The open file that is handed over. Where the file system has no locks, nobody will seem to be left.
void HoldWithSupervisor(int held_fd) {
  (void)::flock(held_fd, LOCK_EX | LOCK_NB);
}

// `progress_fd`: the same file, opened anew.
bool SomebodyHolds(int progress_fd) {
  if (::flock(progress_fd, LOCK_EX | LOCK_NB) != 0) return errno == EWOULDBLOCK;
  (void)::flock(progress_fd, LOCK_UN);
  return false;
}

constexpr int64_t kOfferLimitNs = 10 * kNanosPerSecond;
constexpr int64_t kFirstLookNs = 5 * kNanosPerMilli;
constexpr int64_t kLongestOfferPauseNs = 500 * kNanosPerMilli;

// Waits until nobody holds a supervisor's file any more. Kept by its timer.
class RemainsWait : public std::enable_shared_from_this<RemainsWait> {
 public:
  RemainsWait(IoLoop& loop, std::string marker, UniqueFd progress, std::function<void(Status)> done)
      : loop_(loop),
        marker_(std::move(marker)),
        progress_(std::move(progress)),
        done_(std::move(done)),
        until_ns_(loop.clock().mono_ns() + kSupervisorGoneLimitNs) {}

  void Look() {
    if (!SomebodyHolds(progress_.get())) return done_(OkStatus());
    if (loop_.clock().mono_ns() >= until_ns_) {
      return done_(Fail(ErrorCode::kTimedOut, "wait for the end of what run " + marker_ + " left",
                        "its kprof-launch, which its client started, has not ended within 40 s",
                        "end it: it is a process of the run's own user"));
    }
    again_ = loop_.After(pause_ns_, [self = shared_from_this()] { self->Look(); });
    pause_ns_ = std::min(2 * pause_ns_, kLongestOfferPauseNs);
  }

 private:
  IoLoop& loop_;
  const std::string marker_;
  const UniqueFd progress_;
  const std::function<void(Status)> done_;
  const int64_t until_ns_;
  int64_t pause_ns_ = kFirstLookNs;
  IoLoop::Timer again_;
};

}  // namespace

ClientLauncher::ClientLauncher(IoLoop& loop) : loop_(loop), offers_(std::make_shared<Offers>()) {}

ClientLauncher::~ClientLauncher() {
  KPROF_ON_IO_LOOP(loop_);
  offers_->clear();
}

Result<std::unique_ptr<Launched>> ClientLauncher::Launch(const LaunchRequest& request, const LaunchAs& as,
                                                         const std::string& marker, const OutputFiles& files,
                                                         LaunchEvents events) {
  KPROF_ON_IO_LOOP(loop_);
  ASSIGN_OR_RETURN(const LaunchRequest marked, MarkedRequest(request, marker));
  KPROF_CHECK(!IsOffered(marker));
  HoldWithSupervisor(files.held_fd);
  Result<SocketPair> ends = MakeLaunchSockets(files);
  if (!ends.ok()) {
    return Status(ErrorCode::kSpawnFailed, ends.status().what(), ends.status().why(), ends.status().remedy());
  }
  auto supervisor = std::make_shared<RemoteSupervisor>(loop_, nullptr);
  RETURN_IF_ERROR(
      supervisor->Begin(std::move(ends->ours), SubjectOf(marked), marker, std::move(events), FirstFrames(marked)));
  supervisor->ExpectReady();
  Offer& offer = (*offers_)[marker];
  offer.uid = as.uid;
  offer.channel = std::move(ends->theirs);
  offer.supervisor = supervisor;
  offer.limit = loop_.After(kOfferLimitNs, [offers = offers_.get(), supervisor, marker] {
    offers->erase(marker);
    supervisor->GiveUp(Fail(ErrorCode::kClientGone, "start run " + marker,
                            "its client did not come for it within 10 s, to start it",
                            "keep kprofctl running until the run has ended, or use --detach"));
  });
  auto withdraw = [supervisor, offers = offers_, marker] {
    auto offer = offers->find(marker);
    if (offer != offers->end() && offer->second.supervisor.lock() == supervisor) offers->erase(offer);
    supervisor->Abandon();
  };
  return std::unique_ptr<Launched>(
      std::make_unique<SupervisorHandle>(loop_, supervisor->channel(), std::move(withdraw)));
}

void ClientLauncher::EndRemains(const LaunchAs& /*as*/, const std::string& marker, UniqueFd progress,
                                std::function<void(Status)> done) {
  KPROF_ON_IO_LOOP(loop_);
  auto wait = std::make_shared<RemainsWait>(loop_, marker, std::move(progress), std::move(done));
  loop_.Post([wait] { wait->Look(); });
}

Result<UniqueFd> ClientLauncher::Take(const std::string& marker, uint32_t uid) {
  KPROF_ON_IO_LOOP(loop_);
  auto offer = offers_->find(marker);
  if (offer == offers_->end() || offer->second.uid != uid) {
    return Fail(ErrorCode::kNotFound, "take the launch of run " + marker, "no launch of yours waits under this id");
  }
  UniqueFd channel = std::move(offer->second.channel);
  offers_->erase(offer);
  return channel;
}

}  // namespace kprof

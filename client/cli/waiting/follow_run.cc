#include "client/cli/waiting/follow_run.h"

#include <poll.h>

#include <optional>
#include <utility>
#include <vector>

#include "client/cli/text/amounts_and_times.h"
#include "client/cli/waiting/passed_output.h"
#include "client/cli/waiting/progress.h"
#include "client/cli/waiting/queue_place.h"
#include "storage/base/readable_text.h"

namespace kprof::cli {
namespace {

constexpr size_t kNameLimitBytes = 64;

}  // namespace

Result<v1::Run> FindRun(KprofClient& client, const std::string& name, const std::string& act) {
  Result<v1::GetRunResponse> found = client.GetRun(name);
  if (found.ok()) return std::move(*found->mutable_run());
  const Status& failure = found.status();
  return Fail(failure.code(), act + " " + ClippedText(name, kNameLimitBytes), failure.why(), failure.remedy());
}

namespace {

constexpr int kTickMs = 200;

// Tells the daemon, and why where it is for that the run could not be started; true when it need not be tried again.
bool RequestCancel(const RunFollower::Connect& connect, const std::string& run_id,
                   const std::optional<Status>& launch_failure, Output& output) {
  Result<std::unique_ptr<KprofClient>> client = connect();
  if (!client.ok()) return false;
  v1::CancelRunRequest request;
  request.set_id(run_id);
  if (launch_failure) request.set_launch_failure(ReadableText(launch_failure->ToString()));
  Result<v1::Run> run = (*client)->CancelRun(request);
  if (run.ok() || run.status().code() == ErrorCode::kUsage) return true;  // usage: it has ended already
  if (run.status().code() == ErrorCode::kNoDaemon) return false;
  output.Note(run.status().ToString());
  return true;
}

// What the layers below call to follow or to watch the run is one act of the verb's.
Status InTheVerbsWords(const std::string& act, const std::string& run_id, const Status& failure) {
  const std::string what = act + " " + run_id;
  if (!failure.what().ends_with(" run " + run_id)) return failure.In(what);
  return Fail(failure.code(), what, failure.why(), failure.remedy());
}

// Says in lines what the progress line would show, where there is no terminal.
class Notes {
 public:
  // Of a run that is the reader's `own`, or not.
  Notes(const RunFollower::Connect& connect, Output& output, bool enabled, bool own)
      : connect_(connect), output_(output), enabled_(enabled), own_(own) {}

  void OnUpdate(const v1::WatchRunResponse& update) {
    const std::string place = QueuePlaceText(PlaceOf(update));
    const bool waits = update.run().state() == v1::RUN_STATE_QUEUED && !place.empty();
    if (enabled_ && waits && !said_queued_) {
      said_queued_ = true;
      output_.Note("run " + update.run().id() + " is queued, " + place + ForWhom(update));
    }
    if (enabled_ && said_disconnected_) output_.Note("the connection to kprofd is back");
    said_disconnected_ = false;
  }

  void OnDisconnected() {
    if (enabled_ && !said_disconnected_) output_.Note("the connection to kprofd is lost; trying again");
    said_disconnected_ = true;
  }

 private:
  // Names the holder that the next one in the queue waits for; any other waits for those before it.
  std::string ForWhom(const v1::WatchRunResponse& update) const {
    if (update.queue_position() != 1) return "";
    Result<std::unique_ptr<KprofClient>> client = connect_();
    if (!client.ok()) return "";
    Result<v1::ListDevicesResponse> devices = (*client)->ListDevices();
    const std::string whom = devices.ok() ? WaitsFor(update.run(), *devices, own_) : "";
    return whom.empty() ? "" : "; it waits " + whom;
  }

  const RunFollower::Connect& connect_;
  Output& output_;
  const bool enabled_;
  const bool own_;
  bool said_queued_ = false;
  bool said_disconnected_ = false;
};

}  // namespace

Result<v1::Run> FollowRun(const RunFollower::Connect& connect, const std::string& run_id, const FollowOptions& options,
                          const Interrupts& interrupts, Output& output) {
  RunFollower follower(connect, run_id, {.hold = options.hold, .reconnect_ms = options.reconnect_ms});
  ProgressLine line(output, ProgressAllowed(output));
  PassedOutput passed(connect,
                      {.to = options.pass_output,
                       .direct = options.direct,
                       .is_launched_here = options.launch != nullptr,
                       .prints_while_queued = options.prints_while_queued,
                       .reconnect_ms = options.reconnect_ms},
                      line, output);
  Notes notes(connect, output, !line.enabled(), options.hold);
  ProgressFacts facts;
  bool cancel_wanted = false;
  bool cancel_sent = false;
  bool launched = false;
  std::optional<Status> launch_failure;
  std::vector<pollfd> waits;

  while (true) {
    waits = {pollfd{follower.fd(), POLLIN, 0}, pollfd{cancel_wanted ? -1 : interrupts.fd(), POLLIN, 0}};
    passed.AddWaits(waits);
    ::poll(waits.data(), waits.size(), line.enabled() || cancel_wanted != cancel_sent ? kTickMs : -1);

    RunFollower::News news = follower.Take();
    if (news.update) {
      facts.latest = *news.update;
      facts.received_ns = NowUnixNs();
      notes.OnUpdate(facts.latest);
      if (news.resumed) {
        launched = false;  // what a daemon that is gone had prepared the next one offers anew
        passed.OnResumed(facts.latest.run());
      }
      if (facts.latest.launch_offered() && options.launch && !std::exchange(launched, true)) {
        Status started = options.launch();
        if (!started.ok()) {
          launch_failure = started;
          cancel_wanted = true;
        }
      }
      passed.OnUpdate(facts.latest.run());
    }
    facts.disconnected = news.disconnected;
    passed.Pass();
    if (news.end && news.end->ok()) passed.Finish(facts.latest.run(), interrupts);
    if (news.end) {
      // It knows why it did, also where it could not be started, which may just be because it was cancelled.
      if (news.end->ok()) return facts.latest.run();
      return launch_failure ? *launch_failure : InTheVerbsWords(options.act, run_id, *news.end);
    }
    if (facts.disconnected) notes.OnDisconnected();

    if (interrupts.first() != 0 && !cancel_wanted) {
      if (!options.interrupt_cancels) return Fail(ErrorCode::kCancelled, options.act + " " + run_id, "interrupted");
      cancel_wanted = true;
      facts.cancelling = true;
      if (!line.enabled()) output.Note("cancelling run " + run_id + "; a second Ctrl-C leaves at once");
    }
    if (passed.is_in_vain() && !cancel_wanted) {
      cancel_wanted = true;
      facts.cancelling = true;
      line.Clear();
      output.Note("nobody reads the command's output any more; cancelling run " + run_id);
    }
    const bool is_under_way = facts.latest.has_run() && !IsEnded(facts.latest.run().state());
    if (is_under_way && !passed.is_in_a_line()) line.Show(ProgressText(facts, NowUnixNs()));
    if (cancel_wanted && !cancel_sent) {
      cancel_sent = RequestCancel(connect, run_id, launch_failure, output);
    }
  }
}

}  // namespace kprof::cli

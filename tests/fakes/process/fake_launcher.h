// A Launcher that starts nothing: it notes what it was asked, and the test says what happened.
//
//   FakeLauncher launcher;
//   ... the code under test calls Launch ...
//   launcher.last().Prepared();
//   EXPECT_EQ(launcher.last().go_calls, 1);
//   launcher.last().Ended({.exit_code = 0});
//
// Events are called at once, from inside the test's call; like the real ones never from inside Launch, Go or Stop. One
// that comes after the Launched is gone, or after a final event, and a second Prepared, is swallowed, as the real one
// would never send it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/process/launchers/launcher.h"

namespace kprof {

class FakeLauncher final : public Launcher {
 public:
  struct Entry {
    LaunchRequest request;
    LaunchAs as;
    std::string marker;
    OutputFiles files;
    std::vector<std::vector<std::string>> leases;
    int go_calls = 0;
    std::vector<TurnAsked> turns;
    int enough_calls = 0;
    std::vector<int64_t> stop_graces_ms;
    bool destroyed = false;  // the Launched is gone: the supervisor would be ending the tree

    void SharesCgroup() { Tell(events.shares_cgroup); }
    void HeldUp(const Status& why) { Tell(events.held_up, why); }
    void StepBegins() { Tell(events.step_begins); }
    void StepsDone() { Tell(events.steps_done); }
    void CommandOver() { Tell(events.command_over); }
    void TurnOver(const TurnEnded& turn) { Tell(events.turn_over, turn); }
    void Left(const std::string& path, UniqueFd fd, int32_t tool_output = -1) {
      auto output = std::make_shared<ReceivedOutput>();
      output->found = {path, tool_output};
      output->fd = std::move(fd);
      Tell(events.output, output);
    }
    void LeftOut(const OutputsLeftOut& left_out) { Tell(events.left_out, left_out); }
    void Prepared() {
      if (!std::exchange(prepared, true)) Tell(events.prepared);
    }
    void Started(const CommandStarted& started = {.pid = 4242, .unix_ns = 1, .mono_ns = 1}) {
      Tell(events.started, started);
    }
    void MayLiveOn(const Status& why) { Tell(events.may_live_on, why); }
    void Failed(const Status& status) { TellLast(events.failed, status); }
    void Ended(const CommandEnded& ended) { TellLast(events.ended, ended); }
    void Lost(const Status& status) { TellLast(events.lost, status); }

    LaunchEvents events;
    bool prepared = false;
    bool over = false;

   private:
    template <typename Event, typename... Arguments>
    void Tell(const Event& event, const Arguments&... arguments) {
      if (over || destroyed || !event) return;
      Event call = event;  // the callee may destroy the Launched
      call(arguments...);
    }
    template <typename Event, typename Argument>
    void TellLast(const Event& event, const Argument& argument) {
      if (over || destroyed) return;
      over = true;
      Event call = event;
      if (call) call(argument);
    }
  };

  Result<std::unique_ptr<Launched>> Launch(const LaunchRequest& request, const LaunchAs& as, const std::string& marker,
                                           const OutputFiles& files, LaunchEvents events) override {
    if (next_failure_) return *std::exchange(next_failure_, std::nullopt);
    auto entry = std::make_shared<Entry>();
    entry->request = request;
    entry->as = as;
    entry->marker = marker;
    entry->files = files;
    entry->events = std::move(events);
    entries_.push_back(entry);
    return std::unique_ptr<Launched>(std::make_unique<Handle>(std::move(entry)));
  }

  // What a daemon before left, and is to be ended; the test says when that is so.
  struct Remains {
    LaunchAs as;
    std::string marker;
    std::function<void(Status)> done;
  };
  void EndRemains(const LaunchAs& as, const std::string& marker, UniqueFd /*progress*/,
                  std::function<void(Status)> done) override {
    remains.push_back({as, marker, std::move(done)});
  }
  std::vector<Remains> remains;

  // The next Launch fails with this.
  void FailNext(Status status) { next_failure_ = std::move(status); }

  size_t count() const { return entries_.size(); }
  Entry& at(size_t i) { return *entries_.at(i); }
  Entry& last() { return *entries_.back(); }

 private:
  class Handle final : public Launched {
   public:
    explicit Handle(std::shared_ptr<Entry> entry) : entry_(std::move(entry)) {}
    ~Handle() override { entry_->destroyed = true; }
    void Lease(const std::vector<std::string>& variables) override { entry_->leases.push_back(variables); }
    void Go() override { ++entry_->go_calls; }
    void Turn(const TurnAsked& turn) override { entry_->turns.push_back(turn); }
    void Enough() override { ++entry_->enough_calls; }
    void Stop(int64_t grace_ms) override { entry_->stop_graces_ms.push_back(grace_ms); }

   private:
    const std::shared_ptr<Entry> entry_;  // the test looks at it after we are gone
  };

  std::vector<std::shared_ptr<Entry>> entries_;
  std::optional<Status> next_failure_;
};

}  // namespace kprof

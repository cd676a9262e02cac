// What runs.h and sessions.h promise together, over random schedules: users with single runs and sessions on the same
// devices, attached and detached, with and without time limits; clients that go, come back and change their minds;
// supervisors that prepare, start, fail and end in their own time; kprofd killed, and stopped, at any moment.
//
//   No device has two commands on it, and none but its holder's; a restart changes nothing about that.
//   Nothing runs twice. What was accepted is never lost: it ends, and it is done unless there is a reason.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "storage/catalog/session_table.h"
#include "tests/unit/runs/runs_fixture.h"

namespace kprof {
namespace {

constexpr uint32_t kFirstUid = 1000;
constexpr uint32_t kUsers = 3;

// One life of a node, made of one seed.
class RandomSchedule : public RunsFixture {
 public:
  explicit RandomSchedule(uint64_t seed) : random_(seed) {
    std::vector<Device> devices;
    for (const char* id : {"0", "1", "2", "3"}) {
      devices.push_back({.id = id, .kind = DeviceKind::kNvidia, .name = "H200", .uuid = std::string("GPU-") + id});
    }
    devices_.Set(DeviceList(std::move(devices)));
    system_mode_ = true;
    Status opened = Open();
    EXPECT_TRUE(opened.ok()) << opened.ToString();
  }

  void Step() {
    const uint64_t choice = Below(100);
    if (choice < 16) return SubmitOne();
    if (choice < 26) return SubmitRound();
    if (choice < 34) return OpenOne();
    if (choice < 37) return CloseOne();
    if (choice < 40) return CancelOne();
    if (choice < 45) return HoldOrLetGo();
    if (choice < 55) return Pass(static_cast<int64_t>(Below(4000)));
    if (choice < 58) return EndRemainsOfOne();
    if (choice < 59) return Kill();
    if (choice < 60) return StopAndStart();
    Advance(/*may_fail=*/true);
  }

  void Check() {
    NoteCommands();
    std::map<std::string, std::string> on;
    for (const auto& [run, command] : commands_) {
      for (const std::string& device : command.devices) {
        ASSERT_TRUE(on.emplace(device, run).second) << run << " and " << on[device] << " are on device " << device;
        const std::string holder = runs_->queue().HolderOf(device);
        ASSERT_TRUE(holder == run || (!command.session.empty() && holder == command.session))
            << run << " is on device " << device << ", which '" << holder << "' holds";
      }
    }
    const std::vector<std::pair<std::string, uint32_t>> living = runs_->sessions().Living();
    for (const auto& [id, uid] : living) {
      const SessionRow* row = runs_->sessions().FindOpenRow(id);
      if (row->state != SessionState::kOpen) continue;
      for (const std::string& device : row->devices) ASSERT_EQ(runs_->queue().HolderOf(device), id);
    }
  }

  // Nobody comes any more, and nobody gives up: sessions are closed once their runs are over, commands end.
  void ComeToAnEnd() {
    for (int round = 0; round < 3000 && !IsQuiet(); ++round) {
      while (!launcher_->remains.empty()) EndRemainsOfOne();
      Advance(/*may_fail=*/false);
      for (const auto& [id, uid] : runs_->sessions().Living()) {
        const auto& rounds = rounds_[id];
        if (std::none_of(rounds.begin(), rounds.end(), [this](const std::string& run) { return IsKnown(run); })) {
          Close(id);
        }
      }
      Settle();
      ASSERT_NO_FATAL_FAILURE(Check());
    }
    ASSERT_TRUE(IsQuiet()) << runs_->queued() << " runs wait, " << runs_->running() << " run, "
                           << runs_->sessions().Living().size() << " sessions live";
    ASSERT_EQ(runs_->queue().waiting(), 0u);
    ASSERT_EQ(runs_->queue().holding(), 0u);
    // Of what was launched the launcher lets go.
    std::set<std::string> launched;
    for (size_t i = 0; i < launcher_->count(); ++i) launched.insert(launcher_->at(i).marker);
    for (const auto& [id, grant] : grants_->grants) {
      ASSERT_TRUE(launched.contains(id)) << "nobody lets go of the grant of " << id;
    }
  }

  void CheckWhatBecameOfAll() {
    for (const auto& [id, run] : accepted_) {
      const RunRow row = Stored(id);
      ASSERT_TRUE(IsTerminal(row.state)) << id << " is " << RunStateName(row.state);
      const std::string error = row.error ? row.error->code : "";
      if (row.state == RunState::kDone) {
        ASSERT_TRUE(went_.contains(id)) << id << " is done and never ran";
      }
      ASSERT_TRUE(row.state == RunState::kDone || run.may_end_early) << id << " ended with " << error;
    }
    for (const auto& [id, rounds] : rounds_) {
      Result<ReaderPool::Lease> reader = catalog_->readers().Borrow();
      Result<SessionRow> session = ReadSession(**reader, id);
      ASSERT_TRUE(session.ok()) << session.status().ToString();
      ASSERT_TRUE(session->state == SessionState::kClosed || session->state == SessionState::kLost) << id;
      std::set<int64_t> numbers;
      for (const std::string& run : rounds) {
        const std::optional<int64_t> number = Stored(run).round;
        ASSERT_TRUE(number && numbers.insert(*number).second) << run << " has no number of its own in " << id;
      }
      ASSERT_EQ(session->last_round, numbers.empty() ? 0 : *numbers.rbegin());
    }
  }

 private:
  struct Accepted {
    bool may_end_early = false;  // somebody or some time limit may end it, or a kill of kprofd
  };
  struct Command {
    std::vector<std::string> devices;
    std::string session;
  };

  uint64_t Below(uint64_t limit) { return random_() % limit; }
  bool Chance(uint64_t percent) { return Below(100) < percent; }
  uint32_t SomeUser() { return kFirstUid + static_cast<uint32_t>(Below(kUsers)); }
  template <typename Container>
  const auto& OneOf(const Container& all) {
    return *std::next(all.begin(), static_cast<long>(Below(all.size())));
  }
  std::string SomeDevices() {
    static const std::vector<std::string> kSets = {"0", "1", "2", "3", "0,1", "1,2", "2,3", "0,3", "all", "cpu"};
    return OneOf(kSets);
  }

  static bool IsTerminal(RunState state) {
    return state == RunState::kDone || state == RunState::kFailed || state == RunState::kCancelled;
  }
  bool IsKnown(const std::string& run) { return runs_->FindOpenRow(run) != nullptr; }
  bool IsQuiet() {
    return runs_->queued() == 0 && runs_->running() == 0 && runs_->sessions().open() == 0 &&
           runs_->sessions().queued() == 0 && commands_.empty();
  }
  // What was posted and written has been answered.
  void Settle() {
    for (int i = 0; i < 3; ++i) {
      loop_->RunUntilIdle();
      (void)catalog_->writer().SubmitAndWait([](Db&) { return OkStatus(); });
    }
    loop_->RunUntilIdle();
  }

  void Accept(const RunRequest& request) {
    Result<RunRow> row = Submit(request);
    if (!row.ok()) {
      EXPECT_FALSE(request.session_id.empty()) << row.status().ToString();  // which may have ended meanwhile
      return;
    }
    accepted_[row->id].may_end_early = request.attached || request.queue_timeout_ms > 0 || !request.session_id.empty();
    if (!request.session_id.empty()) rounds_[request.session_id].push_back(row->id);
  }
  void SubmitOne() {
    RunRequest request = On(SomeDevices(), Chance(20));
    request.uid = SomeUser();
    request.priority = Chance(10) ? 1 : 0;
    if (Chance(15)) request.queue_timeout_ms = static_cast<int64_t>(1 + Below(20'000));
    Accept(request);
  }
  void SubmitRound() {
    const auto living = runs_->sessions().Living();
    if (living.empty()) return;
    const std::string id = OneOf(living).first;
    const SessionRow* session = runs_->sessions().FindOpenRow(id);
    RunRequest request = On(Chance(50) ? "" : OneOf(session->devices), Chance(10));
    request.session_id = id;
    request.uid = session->uid;
    Accept(request);
  }
  void OpenOne() {
    SessionRequest request;
    request.uid = SomeUser();
    request.device = SomeDevices();
    request.attached = Chance(40);
    if (!request.attached && Chance(50)) request.ttl_ms = static_cast<int64_t>(1000 + Below(30'000));
    if (!request.attached && Chance(50)) request.idle_timeout_ms = static_cast<int64_t>(1000 + Below(10'000));
    if (Chance(20)) request.queue_timeout_ms = static_cast<int64_t>(1 + Below(20'000));
    std::optional<Result<SessionRow>> answer;
    runs_->sessions().Open(request, [&](Result<SessionRow> row) { answer = std::move(row); });
    ASSERT_TRUE(Until([&] { return answer.has_value(); }));
    ASSERT_TRUE(answer->ok()) << answer->status().ToString();
    rounds_[(*answer)->id];
    if (!request.attached) return;
    runs_->sessions().Hold((*answer)->id);
    held_.insert((*answer)->id);
  }
  void Close(const std::string& id) {
    runs_->sessions().Close(id, {runs_->sessions().FindOpenRow(id)->uid, "local"},
                            Fail(ErrorCode::kCancelled, "run", "its session was closed"), 1000,
                            [](const Result<SessionRow>&) {});
  }
  void CloseOne() {
    const auto living = runs_->sessions().Living();
    if (!living.empty()) Close(OneOf(living).first);
  }
  void CancelOne() {
    if (accepted_.empty()) return;
    const std::string id = OneOf(accepted_).first;
    if (!IsKnown(id)) return;
    accepted_[id].may_end_early = true;
    runs_->Stop(id, Fail(ErrorCode::kCancelled, "run " + id, "it was cancelled"), 1000, [](const Result<RunRow>&) {});
  }
  // A client of an attached session goes away, or is back.
  void HoldOrLetGo() {
    if (!held_.empty() && Chance(50)) {
      const std::string id = OneOf(held_);
      held_.erase(id);
      left_.insert(id);
      return runs_->sessions().Unhold(id);
    }
    if (left_.empty()) return;
    const std::string id = OneOf(left_);
    left_.erase(id);
    const std::optional<Sessions::View> view = runs_->sessions().FindOpen(id);
    if (!view) return;
    Result<std::string> resumed = runs_->sessions().Resume(view->row.uid, view->token);
    if (!resumed.ok()) return;  // it is ending
    EXPECT_EQ(*resumed, id);
    EXPECT_FALSE(runs_->sessions().Resume(view->row.uid + 1, view->token).ok());
    runs_->sessions().Hold(id);
    held_.insert(id);
  }

  // One supervisor goes a step further.
  void Advance(bool may_fail) {
    std::vector<size_t> alive;
    for (size_t i = 0; i < launcher_->count(); ++i) {
      if (!launcher_->at(i).over && !launcher_->at(i).destroyed) alive.push_back(i);
    }
    if (alive.empty()) return;
    FakeLauncher::Entry& entry = launcher_->at(OneOf(alive));
    if (may_fail && Chance(5)) {
      accepted_[entry.marker].may_end_early = true;
      entry.go_calls > 0 ? entry.Lost(Fail(ErrorCode::kInternal, "run", "its supervisor died"))
                         : entry.Failed(Fail(ErrorCode::kSpawnFailed, "run", "there is no such program"));
    } else if (entry.go_calls == 0) {
      entry.Prepared();
    } else if (Chance(50)) {
      entry.Started();
    } else {
      entry.Ended(ExitCode(0));
    }
    loop_->RunUntilIdle();
  }

  void EndRemainsOfOne() {
    if (launcher_->remains.empty()) return;
    auto one = std::next(launcher_->remains.begin(), static_cast<long>(Below(launcher_->remains.size())));
    FakeLauncher::Remains remains = std::move(*one);
    launcher_->remains.erase(one);
    found_.erase(remains.marker);
    commands_.erase(remains.marker);
    remains.done(OkStatus());
    loop_->RunUntilIdle();
  }

  // kill -9, and the next daemon. Commands that run go on.
  void Kill() {
    NoteCommands();
    Leave();
  }
  // As systemctl restart does it.
  void StopAndStart() {
    bool stopped = false;
    ExcuseWhatIsInFlight();
    runs_->StopAll(1000, [&] { stopped = true; });
    for (int step = 0; !stopped && step < 200; ++step) {
      Advance(/*may_fail=*/true);
      EndRemainsOfOne();
      Settle();
      ASSERT_NO_FATAL_FAILURE(Check());
      if (step == 100) Pass(60'000);  // who does not end is left to the next start
    }
    EXPECT_TRUE(stopped);
    NoteCommands();
    Leave();
  }
  // What waits no longer: that it was granted may be durable before this thread knows.
  void ExcuseWhatIsInFlight() {
    for (auto& [id, run] : accepted_) {
      const std::optional<Runs::View> view = runs_->FindOpen(id);
      if (view && view->outlook.position == 0) run.may_end_early = true;
    }
  }
  void Leave() {
    ExcuseWhatIsInFlight();
    for (const auto& [id, command] : commands_) found_.insert(id);
    noted_.clear();
    held_.clear();
    left_.clear();
    ASSERT_NO_FATAL_FAILURE(Restart());
    Settle();
    // Each command that ran is looked for; that its end is known may be durable already.
    for (const std::string& id : std::set<std::string>(found_)) {
      ASSERT_TRUE(std::any_of(launcher_->remains.begin(), launcher_->remains.end(),
                              [&](const FakeLauncher::Remains& remains) { return remains.marker == id; }))
          << "nobody looks for what is left of " << id;
    }
  }

  // Which commands there are now.
  void NoteCommands() {
    for (size_t i = 0; i < launcher_->count(); ++i) {
      const FakeLauncher::Entry& entry = launcher_->at(i);
      const std::string& id = entry.marker;
      if (entry.go_calls == 0) continue;
      if (i >= noted_.size()) noted_.resize(i + 1);
      if (!noted_[i]) {
        noted_[i] = true;
        ASSERT_TRUE(went_.insert(id).second) << id << " ran twice";
        const RunRow* row = runs_->FindOpenRow(id);
        ASSERT_NE(row, nullptr) << id << " runs and nobody knows it";
        commands_[id] = {row->devices, row->session_id};
      }
      if (entry.over || entry.destroyed) commands_.erase(id);
    }
  }

  std::mt19937_64 random_;
  std::map<std::string, Accepted> accepted_;
  std::map<std::string, std::vector<std::string>> rounds_;  // of each session
  std::set<std::string> held_;                              // attached sessions, by clients
  std::set<std::string> left_;                              // by clients that may come back
  std::map<std::string, Command> commands_;                 // that run now, of this daemon and of those before
  std::set<std::string> found_;                             // those of them of daemons before
  std::set<std::string> went_;
  std::vector<bool> noted_;  // of the launches of this daemon: it is in went_
};

TEST(RunsRandom, NoDeviceIsHeldByTwoAndNobodyIsLost) {
  const bool is_long = std::getenv("KPROF_LONG") != nullptr;
  const uint64_t schedules = is_long ? 300 : 25;
  if (!is_long) std::printf("[long] 25 of 300 random schedules\n");
  for (uint64_t seed = 0; seed < schedules; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomSchedule schedule(seed);
    for (int step = 0; step < 250; ++step) {
      schedule.Step();
      ASSERT_NO_FATAL_FAILURE(schedule.Check());
    }
    ASSERT_NO_FATAL_FAILURE(schedule.ComeToAnEnd());
    ASSERT_NO_FATAL_FAILURE(schedule.CheckWhatBecameOfAll());
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace kprof

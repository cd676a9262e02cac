#include "daemon/systemd/watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <optional>
#include <utility>

#include "daemon/base/io_loop.h"
#include "daemon/base/worker_pool.h"
#include "storage/db/writer.h"
#include "tests/fakes/base/fake_clock.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A part that answers and works when it is told.
struct FakePart {
  std::vector<std::function<void()>> questions;
  int64_t work_done = 0;
  bool has_room = true;

  WatchedPart Watched(std::string name) {
    return {std::move(name),
            [this](std::function<void()> answer) {
              if (has_room) questions.push_back(std::move(answer));
            },
            [this] { return work_done; }};
  }
  void AnswerAll() {
    for (auto& answer : std::exchange(questions, {})) answer();
  }
};

TEST(LifeSigns, APartThatAnswersLives) {
  FakePart part;
  LifeSigns signs({part.Watched("a")});
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(signs.Look(), IsEmpty());
    EXPECT_EQ(part.questions.size(), 1u);
    part.AnswerAll();
  }
}

TEST(LifeSigns, APartThatNeitherAnswersNorWorksIsStuckUntilItDoes) {
  FakePart a;
  FakePart b;
  LifeSigns signs({a.Watched("a"), b.Watched("b")});
  EXPECT_THAT(signs.Look(), IsEmpty());
  b.AnswerAll();
  EXPECT_THAT(signs.Look(), ElementsAre("a"));
  b.AnswerAll();
  EXPECT_THAT(signs.Look(), ElementsAre("a"));
  EXPECT_EQ(a.questions.size(), 1u) << "asked again without an answer";
  a.AnswerAll();
  b.AnswerAll();
  EXPECT_THAT(signs.Look(), IsEmpty());
}

TEST(LifeSigns, ALongQueueThatMovesLives) {
  FakePart part;
  LifeSigns signs({part.Watched("a")});
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(signs.Look(), IsEmpty());
    ++part.work_done;
  }
  EXPECT_THAT(signs.Look(), IsEmpty());
  EXPECT_THAT(signs.Look(), ElementsAre("a"));
}

TEST(LifeSigns, AFullQueueThatMovedIsAskedAgain) {
  FakePart part;
  part.has_room = false;
  LifeSigns signs({part.Watched("a")});
  EXPECT_THAT(signs.Look(), IsEmpty());
  ++part.work_done;
  part.has_room = true;
  EXPECT_THAT(signs.Look(), IsEmpty());
  part.AnswerAll();
  EXPECT_THAT(signs.Look(), IsEmpty());
}

TEST(LifeSigns, AnAnswerMayComeWhenNobodyLooksAnyMore) {
  FakePart part;
  std::optional<LifeSigns> signs(std::in_place, std::vector<WatchedPart>{part.Watched("a")});
  (void)signs->Look();
  signs.reset();
  part.AnswerAll();
}

TEST(LifeSigns, OfALoopThatDoesNotRun) {
  FakeClock clock;
  IoLoop loop(clock);
  LifeSigns signs({WatchedLoop(loop)});
  EXPECT_THAT(signs.Look(), IsEmpty());
  EXPECT_THAT(signs.Look(), ElementsAre("io loop"));
  loop.RunUntilIdle();
  EXPECT_THAT(signs.Look(), IsEmpty());
}

TEST(LifeSigns, OfWorkersThatAllWait) {
  WorkerPool pool({.threads = 1});
  std::latch go_on(1);
  std::latch went_on(1);
  LifeSigns signs({WatchedWorkers(pool)});
  ASSERT_TRUE(pool.Submit([&] { go_on.wait(); }).ok());
  EXPECT_THAT(signs.Look(), IsEmpty());
  EXPECT_THAT(signs.Look(), ElementsAre("workers"));
  go_on.count_down();
  ASSERT_TRUE(pool.Submit([&] { went_on.count_down(); }).ok());
  went_on.wait();
  EXPECT_THAT(signs.Look(), IsEmpty());
}

TEST(LifeSigns, OfAWriterInALongCommit) {
  const TemporaryFolder folder;
  Writer writer(*Db::Open(folder / "w.db", {.mode = Db::Mode::kReadWrite}), {});
  std::latch go_on(1);
  LifeSigns signs({WatchedWriter(writer)});
  writer.Submit(
      [&](Db&) {
        go_on.wait();
        return OkStatus();
      },
      [](const Status&) {});
  EXPECT_THAT(signs.Look(), IsEmpty());
  EXPECT_THAT(signs.Look(), ElementsAre("writer"));
  go_on.count_down();
  EXPECT_TRUE(writer.SubmitAndWait([](Db&) { return OkStatus(); }).ok());
  EXPECT_THAT(signs.Look(), IsEmpty());
}

}  // namespace
}  // namespace kprof

#include "tests/unit/client/verbs_fixture.h"

namespace kprof::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class KprofctlTest : public VerbsFixture {};

TEST_F(KprofctlTest, WithoutADaemonExitIsThreeAndTheRemedyIsNamed) {
  EXPECT_EQ(Kprofctl({"status", "--json"}), 3);
  EXPECT_EQ(results_, "");
  EXPECT_THAT(notes_, StartsWith("kprofctl: reach kprofd: no daemon at " + daemon_.socket_path()));
  EXPECT_THAT(notes_,
              HasSubstr("start one with 'kprofd --user'\n{\"schema\":\"kprof.error.v1\",\"code\":\"no_daemon\""));
}

TEST_F(KprofctlTest, AMistakeOnTheCommandLineIsTwo) {
  EXPECT_EQ(Kprofctl({"sesion", "list"}), 2);
  EXPECT_EQ(
      notes_,
      "kprofctl: read the command line: there is no verb 'sesion'; did you mean 'session'? see 'kprofctl --help'\n");
}

TEST_F(KprofctlTest, CompletionAndVersionNeedNoDaemon) {
  EXPECT_EQ(Kprofctl({"completion", "bash"}), 0);
  EXPECT_THAT(results_, HasSubstr("complete -o default -F _kprofctl kprofctl"));
  EXPECT_EQ(Kprofctl({"--version"}), 0);
}

}  // namespace
}  // namespace kprof::cli

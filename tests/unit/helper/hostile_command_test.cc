// A detached command that tries to get more than its user has.
#include <sys/resource.h>

#include "tests/unit/helper/helper_fixture.h"

namespace kprof {
namespace {

class HostileCommandTest : public HelperTest {};

TEST_F(HostileCommandTest, GetsNothing) {
  auto make = [&](const std::string& name, uint32_t uid) {
    const std::string path = folder_ / name;
    UniqueFd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)).Reset();
    EXPECT_EQ(::chown(path.c_str(), uid, uid), 0);
    return path;
  };
  const std::string roots = make("of-root", 0);
  const std::string kprofs = make("of-kprof", kKprofdUid);  // such as its log
  // Where its user may execute it.
  const std::string program = folder_ / "hostile_command";
  std::filesystem::copy_file(kBin + "/hostile_command", program);
  ASSERT_EQ(::chmod(program.c_str(), 0755), 0);
  LaunchRequest request = Request({program, "--read", roots, "--write", roots, "--read", kprofs, "--write", kprofs,
                                   "--read", folder_ / "grants", "--write", folder_ / "grants/" + kRun, "--signal",
                                   std::to_string(helper_), "--connect", folder_ / "helper.sock"});
  request.limits = {{.resource = RLIMIT_NOFILE, .soft = 256, .hard = 512}};
  ASSERT_EQ(Register(kRun, request), HelperMessage(HelperDone{}));
  const Outcome outcome = Run(kRun, request);
  ASSERT_TRUE(outcome.ended) << outcome.output;
  std::printf("%s", outcome.output.c_str());
  EXPECT_EQ(outcome.output.find("DONE"), std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.ended->exit_code, 0);
  EXPECT_NE(outcome.output.find("trace the guard\trefused"), std::string::npos) << outcome.output;
}

// The tries themselves work: where there are the rights, they say so.
TEST_F(HostileCommandTest, IsSeenWhenItSucceeds) {
  const std::string command =
      kBin + "/hostile_command --read /etc/shadow --signal " + std::to_string(helper_) + " > " + (folder_ / "table");
  EXPECT_NE(std::system(command.c_str()), 0);
  const std::string table = ReadFile(folder_ / "table");
  for (const char* line :
       {"read /etc/shadow\tDONE", "keep a capability\tDONE", "become root\tDONE", "run before others\tDONE"}) {
    EXPECT_NE(table.find(line), std::string::npos) << line << "\n" << table;
  }
}

}  // namespace
}  // namespace kprof

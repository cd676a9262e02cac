#include "daemon/ingest/text/private_names.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

TEST(PersonalNames, TellWhoWhereAndWithWhatWords) {
  for (const char* name : {"username", "USER_NAME", "userName", "host_name", "Host Name", "started_by", "cwd",
                           "commandLine", "command_line", "COMMAND", "argv", "working-dir"}) {
    EXPECT_TRUE(IsPersonalName(name)) << name;
  }
}

TEST(PersonalNames, OtherNamesAreNone) {
  for (const char* name : {"", "name", "nameId", "commandBufferHandle", "hostId", "text", "globalPid", "deviceId"}) {
    EXPECT_FALSE(IsPersonalName(name)) << name;
  }
}

}  // namespace
}  // namespace kprof

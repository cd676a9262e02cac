// The tool `command`: runs the user's command as it is and measures it from outside (wall and CPU time, memory, context
// switches), which the supervisor does for every tool.
#pragma once

#include "daemon/capture/tool.h"

namespace kprof {

const Tool& CommandTool();

}  // namespace kprof

// The streams of artifacts, down and up, together.
#pragma once

#include "daemon/rpc/download_source.h"
#include "daemon/rpc/upload_call.h"

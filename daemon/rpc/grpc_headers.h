// What every file of this room includes anyway, precompiled once (CMakeLists.txt).
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kprof/v1/node.grpc.pb.h"
#include "kprof/v1/queries.grpc.pb.h"
#include "kprof/v1/runs.grpc.pb.h"

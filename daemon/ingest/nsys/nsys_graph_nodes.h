// Reads the nodes of CUDA graphs from an export: when and by which thread each was made, and from which other node. A
// graph that is instantiated has copies of the nodes that were captured; kernels name the copies (graphNodeId).
#pragma once

#include "daemon/ingest/nsys/nsys_cursor.h"
#include "storage/base/status.h"
#include "storage/trace/format/side_table.h"

namespace kprof {

// A row for each node: itself, the one that it is a copy of, and the one at the begin of that chain, which was
// captured.
const SideTable& GraphNodeTable();

// CUDA_GRAPH_NODE_EVENTS: an instant on the thread for each event, and the side table.
Status ReadNsysGraphNodes(NsysSource& source, const NsysTable& table);

}  // namespace kprof

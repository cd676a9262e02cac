#include "daemon/ingest/nsys/nsys_graph_nodes.h"

#include <array>
#include <cstdint>
#include <map>
#include <utility>

namespace kprof {
namespace {

constexpr size_t kMostGraphNodes = 1 << 20;
constexpr int kThreadBits = 24;  // of a global id, which tell the thread
constexpr int kMostCopies = 64;  // of a node, one of the other

using GraphNode = std::pair<int64_t, int64_t>;  // of a process: its global id without the thread, the node

}  // namespace

const SideTable& GraphNodeTable() {
  static const SideTable kTable{.name = "graph_node",
                                .columns = {{.name = "pid", .type = SideType::kInteger, .unit = ""},
                                            {.name = "node", .type = SideType::kInteger, .unit = ""},
                                            {.name = "copy_of", .type = SideType::kInteger, .unit = ""},
                                            {.name = "captured_node", .type = SideType::kInteger, .unit = ""}}};
  return kTable;
}

Status ReadNsysGraphNodes(NsysSource& source, const NsysTable& table) {
  NsysCursor row(source, table);
  const int start = row.Take("start");
  const int name_id = row.Find("nameId");
  const int global_tid = row.Find("globalTid");
  const int node = row.Find("graphNodeId");
  const int original = row.Find("originalGraphNodeId");
  const uint32_t category = source.batch.Text("cuda_graph_node");
  std::map<GraphNode, int64_t> copies;  // kNoValue: of none
  bool has_more = false;
  while (row.Next()) {
    const int64_t process = row.IsNull(global_tid) ? NsysTracks::kNone : row.Integer(global_tid) >> kThreadBits;
    if (!row.IsNull(node)) {
      const GraphNode of{process, row.Integer(node)};
      const int64_t copy_of = row.IsNull(original) || row.Integer(original) == 0 ? kNoValue : row.Integer(original);
      const auto found = copies.find(of);
      if (found != copies.end()) {
        if (found->second == kNoValue) found->second = copy_of;
      } else if (copies.size() < kMostGraphNodes) {
        copies.emplace(of, copy_of);
      } else {
        has_more = true;
      }
    }
    const std::optional<int64_t> time_ns = row.Time(start);
    if (!time_ns) {
      row.SkipUntimed();
      continue;
    }
    uint32_t track = 0;
    if (row.IsNull(global_tid)) {
      track = source.tracks.OfProcess(NsysTracks::kNone, "other", "CUDA graph nodes");
    } else {
      source.processes.MarkProfiled(row.Integer(global_tid));
      track = source.tracks.Thread(row.Integer(global_tid));
    }
    const uint32_t name = row.ResolvedNumber(name_id);
    source.batch.AddInstant({*time_ns, track, name == 0 ? category : name, category, row.Args()});
  }
  for (const auto& [of, copy_of] : copies) {
    int64_t captured = of.second;
    int64_t from = copy_of;
    for (int i = 0; i < kMostCopies && from != kNoValue; ++i) {
      captured = from;
      const auto next = copies.find({of.first, from});
      from = next == copies.end() ? kNoValue : next->second;
    }
    const int64_t pid = of.first == NsysTracks::kNone ? kNoValue : PidOf(of.first << kThreadBits);
    source.batch.AddSideRow(GraphNodeTable(), std::array<int64_t, 4>{pid, of.second, copy_of, captured});
    RETURN_IF_ERROR(source.batch.GiveFull());
  }
  if (has_more) {
    source.batch.sink().Warn(table.name + ": more than " + std::to_string(kMostGraphNodes) +
                             " nodes, the others are not in the table graph_node");
  }
  return row.Finish();
}

}  // namespace kprof

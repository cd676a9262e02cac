#include "daemon/analysis/functions/host/call_tree.h"

#include <algorithm>
#include <tuple>

#include "daemon/analysis/operators/trace_part.h"

namespace kprof {

std::string_view CallNodeKindName(CallNodeKind kind) {
  switch (kind) {
    case CallNodeKind::kOperator:
      return "operator";
    case CallNodeKind::kModule:
      return "module";
    case CallNodeKind::kAnnotation:
      return "annotation";
    case CallNodeKind::kKernel:
      break;
  }
  return "kernel";
}

int32_t CallTree::NodeOf(int32_t parent, int64_t name, CallNodeKind kind) {
  const auto found = numbers_.find({parent, name, kind});
  if (found != numbers_.end()) return found->second;
  if (nodes_.size() >= most_nodes_) {
    is_full_ = true;
    return parent;
  }
  const auto number = static_cast<int32_t>(nodes_.size());
  nodes_.push_back({.name = name, .kind = kind, .parent = parent});
  numbers_.emplace(Key{parent, name, kind}, number);
  Status grown = charge_.Grow(static_cast<int64_t>(sizeof(CallNode) + sizeof(Key) + 32));
  if (status_.ok() && !grown.ok()) status_ = std::move(grown);
  return number;
}

std::vector<CallTree::Place> CallTree::InOrder() {
  std::vector<std::vector<int32_t>> below(nodes_.size() + 1);  // the last: roots
  for (size_t i = nodes_.size(); i-- > 0;) {
    CallNode& one = nodes_[i];
    one.device_ns = SaturatingSum(one.device_ns, one.self_device_ns);
    below[one.parent == kNoNode ? nodes_.size() : static_cast<size_t>(one.parent)].push_back(static_cast<int32_t>(i));
    if (one.parent == kNoNode) continue;
    CallNode& parent = node(one.parent);
    parent.device_ns = SaturatingSum(parent.device_ns, one.device_ns);
    parent.kernels += one.kernels;
  }
  for (std::vector<int32_t>& children : below) {
    std::sort(children.begin(), children.end(), [this](int32_t a, int32_t b) {
      const CallNode& one = node(a);
      const CallNode& other = node(b);
      return std::tuple(-one.device_ns, -one.host_ns, a) < std::tuple(-other.device_ns, -other.host_ns, b);
    });
  }
  struct Open {
    size_t node = 0;
    size_t next = 0;  // of those below it
    int64_t id = 0;
  };
  std::vector<Place> places;
  places.reserve(nodes_.size());
  std::vector<Open> path = {{nodes_.size(), 0, kNoNode}};
  while (!path.empty()) {
    Open& open = path.back();
    if (open.next == below[open.node].size()) {
      path.pop_back();
      continue;
    }
    const auto at = static_cast<size_t>(below[open.node][open.next++]);
    const auto id = static_cast<int64_t>(places.size());
    places.push_back({&nodes_[at], static_cast<int64_t>(path.size()) - 1, open.id});
    path.push_back({at, 0, id});
  }
  return places;
}

}  // namespace kprof

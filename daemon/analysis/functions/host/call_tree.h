// The calls of a part's host as a tree, with the kernels and copies that they launched as leaves: what has one name and
// one place is one node, over all threads. The tree has a limit: what has no place counts for the node above it.
//
// One thread. Memory, which is asked for: about 120 bytes for each node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "storage/base/memory_charge.h"
#include "storage/base/status.h"

namespace kprof {

constexpr int32_t kNoNode = -1;

enum class CallNodeKind : uint8_t { kOperator, kModule, kAnnotation, kKernel };

// "operator", "module", "annotation", "kernel".
std::string_view CallNodeKindName(CallNodeKind kind);

struct CallNode {
  int64_t name = 0;  // a string's number
  CallNodeKind kind = CallNodeKind::kOperator;
  int32_t parent = kNoNode;
  int64_t count = 0;
  int64_t host_ns = 0;
  int64_t self_device_ns = 0;  // launched by it, and by nothing of the tree below it; of a kernel, its own
  int64_t device_ns = 0;       // once InOrder() is called, with all below it; the same for kernels
  int64_t kernels = 0;
};

class CallTree {
 public:
  // `charge` must outlive it.
  CallTree(size_t most_nodes, MemoryCharge& charge) : most_nodes_(most_nodes), charge_(charge) {}

  // The number of the node with that name in `parent` (kNoNode: in nothing), a new one if there is none. `parent`
  // itself where the tree is full.
  int32_t NodeOf(int32_t parent, int64_t name, CallNodeKind kind);
  // REQUIRES: a number that NodeOf gave, not kNoNode. Valid until the next NodeOf.
  CallNode& node(int32_t number) { return nodes_[static_cast<size_t>(number)]; }

  bool is_full() const { return is_full_; }
  size_t most_nodes() const { return most_nodes_; }
  // Fails as `charge` did.
  const Status& status() const { return status_; }

  // A node where it stands in the order.
  struct Place {
    const CallNode* node = nullptr;
    int64_t depth = 0;            // 0: in nothing
    int64_t parent_id = kNoNode;  // the place of what it is in
  };
  // Each node before all below it, the longest first. REQUIRES: it is called once, and no node is added afterwards.
  std::vector<Place> InOrder();

 private:
  struct Key {
    int32_t parent = 0;
    int64_t name = 0;
    CallNodeKind kind = CallNodeKind::kOperator;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      const auto mixed = static_cast<uint64_t>(key.name) * 0x9e3779b97f4a7c15ULL;
      return (mixed ^ (static_cast<uint64_t>(key.parent) << 2 | static_cast<uint64_t>(key.kind))) *
             0xff51afd7ed558ccdULL;
    }
  };

  const size_t most_nodes_;
  MemoryCharge& charge_;
  Status status_;
  std::unordered_map<Key, int32_t, KeyHash> numbers_;
  std::vector<CallNode> nodes_;  // a node has a larger number than its parent
  bool is_full_ = false;
};

}  // namespace kprof

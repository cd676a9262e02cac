#include "daemon/ingest/nsys/nsys_callchains.h"

#include <algorithm>

#include "daemon/ingest/text/json_text.h"

namespace kprof {
namespace {

constexpr size_t kMostFrames = 1024;
constexpr size_t kMostCachedChains = 1 << 16;

}  // namespace

NsysCallchains::NsysCallchains(NsysDatabase& database, const std::string& table, NsysStrings& strings)
    : strings_(strings), lookup_(database, table, {"stackDepth", "symbol", "module"}) {}

std::vector<NsysCallchains::Frame> NsysCallchains::Frames(int64_t id) {
  std::vector<Frame> frames;
  const bool good = lookup_.Find(id, [&](const NsysQuery& row) {
    frames.push_back({row.Integer(0), row.Integer(1), row.Integer(2)});
    return frames.size() < kMostFrames;
  });
  if (!good) ++failed_;
  std::stable_sort(frames.begin(), frames.end());
  return frames;
}

std::optional<NsysCallchains::Chain> NsysCallchains::Find(int64_t id) {
  const std::vector<Frame> frames = Frames(id);
  if (frames.empty()) return std::nullopt;
  Chain chain{.innermost = frames.front().symbol};
  for (const Frame& frame : frames) chain.json += (chain.json.empty() ? '[' : ',') + FrameJson(frame);
  chain.json += ']';
  return chain;
}

const std::string& NsysCallchains::FrameJson(const Frame& frame) {
  if (frames_.size() >= kMostCachedChains) frames_.clear();
  std::string& json = frames_[{frame.symbol, frame.module}];
  if (!json.empty()) return json;
  std::string text = strings_.Text(frame.symbol).value_or(std::to_string(frame.symbol));
  const std::string module = strings_.Text(frame.module).value_or(std::to_string(frame.module));
  if (!module.empty()) text += " (" + module + ")";
  AppendJsonString(json, text);
  return json;
}

}  // namespace kprof

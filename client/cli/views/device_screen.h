// The view of `kprofctl devices --watch`: the devices' latest state and their events, as lines for a screen of a given
// size. Draws nothing itself; that is LiveScreen (verb_devices.cc).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "client/cli/text/text_style.h"
#include "client/cpp/followers.h"
#include "kprof/v1/node.pb.h"

namespace kprof::cli {

using ScreenLine = std::vector<StyledText>;

class DeviceScreen {
 public:
  // `has_blocks`: the terminal shows the letters of which bars are made (U+2581 to U+2588).
  DeviceScreen(std::string node_name, bool has_blocks) : node_name_(std::move(node_name)), has_blocks_(has_blocks) {}

  void Take(const DeviceFollower::News& news, int64_t now_unix_ns);

  // At most `rows` lines of at most `columns` columns.
  std::vector<ScreenLine> Lines(size_t columns, size_t rows, int64_t now_unix_ns) const;

 private:
  // Sorts ids: numbers by their value, cpu last.
  struct InOrder {
    bool operator()(const std::string& a, const std::string& b) const;
  };
  struct OneDevice {
    v1::Device latest;
    std::deque<double> busy_percent;  // a value for each message; oldest first
  };

  ScreenLine Header(int64_t now_unix_ns) const;
  ScreenLine Figures(const v1::Device& device, bool narrow) const;
  ScreenLine Words(const OneDevice& device, size_t columns) const;
  std::string Bars(const std::deque<double>& percents, size_t columns) const;
  std::vector<ScreenLine> Events(size_t rows) const;

  const std::string node_name_;
  const bool has_blocks_;
  std::map<std::string, OneDevice, InOrder> devices_;
  std::deque<v1::DeviceEvent> events_;  // oldest first
  uint64_t missing_events_ = 0;
  int64_t away_since_unix_ns_ = 0;  // 0: the daemon is there
};

}  // namespace kprof::cli

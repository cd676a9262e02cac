// DCGM through its tool, `dcgmi profile --pause` and `--resume`, where there is no library: slower, and it does not
// tell whether somebody else has paused before us.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "daemon/clocks/pause/dcgm_door.h"

namespace kprof {

class DcgmTool : public DcgmDoor {
 public:
  // In `tool_path`, folders with a colon between them, then in our PATH; absolute ones only. Null: nowhere. `page` must
  // outlive it.
  static std::unique_ptr<DcgmDoor> Find(const std::string& tool_path, CallPage& page);

  std::optional<bool> ReadPaused() override { return std::nullopt; }
  Status Pause() override;
  Status Resume() override;

 private:
  DcgmTool(std::string path, CallPage& page) : path_(std::move(path)), page_(page) {}
  Status Run(const char* option, const char* call, const std::string& act);

  const std::string path_;
  CallPage& page_;
};

}  // namespace kprof

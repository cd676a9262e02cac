// DCGM through its library, found at run time: a node without it works, and nothing of it is linked. Connects anew for
// each act, so that a host engine may be restarted meanwhile.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "daemon/clocks/pause/dcgm_door.h"

namespace kprof {

class DcgmLibrary : public DcgmDoor {
 public:
  // `path`: empty for the usual names. `page` must outlive it. Fails with kNotFound where there is none of the usual
  // ones, kToolFailed for one that is named and cannot be loaded, lacks what every version has, or does not begin.
  static Result<std::unique_ptr<DcgmDoor>> Open(const std::string& path, CallPage& page);
  ~DcgmLibrary() override;
  DcgmLibrary(const DcgmLibrary&) = delete;
  DcgmLibrary& operator=(const DcgmLibrary&) = delete;

  std::optional<bool> ReadPaused() override;
  Status Pause() override;
  Status Resume() override;

 private:
  class Connection;

  explicit DcgmLibrary(CallPage& page) : page_(page) {}
  std::string TextOf(dcgm::Return returned) const;
  std::optional<bool> ReadPausedOf(const Connection& connection, unsigned device);

  CallPage& page_;
  void* handle_ = nullptr;
  bool has_begun_ = false;
  dcgm::Functions functions_;
};

}  // namespace kprof

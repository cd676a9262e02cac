// The supervisor's end of launch_protocol.h. Never waits.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/process/launch_protocol.h"
#include "storage/base/unique_fd.h"

namespace kprof {

class ControlChannel {
 public:
  explicit ControlChannel(UniqueFd socket);

  int fd() const { return socket_.get(); }

  // Takes what has come. After it, Next gives the frames.
  void Receive();
  std::optional<FrameReader::Frame> Next();

  // What is sent is small and at most three messages, so it always fits the socket; if not, the channel counts as
  // closed. Hello goes before the first.
  void Send(LaunchMessage type, std::string_view payload = {});

  // The other end is gone, or speaks nonsense: both mean that nobody is there to answer to. A daemon of another build
  // has been told so.
  bool closed() const { return closed_; }

  // stdout log, stderr log, progress; valid before the first frame.
  std::array<UniqueFd, 3>& files() { return files_; }

 private:
  void ReceiveFiles();
  void SendBytes(const std::string& bytes);

  UniqueFd socket_;
  std::array<UniqueFd, 3> files_;
  bool has_files_ = false;
  bool closed_ = false;
  bool said_hello_ = false;
  FrameReader frames_;
};

}  // namespace kprof

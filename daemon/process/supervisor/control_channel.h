// The supervisor's end of launch_protocol.h. Never waits.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/launch/launch_protocol.h"
#include "storage/base/descriptors.h"

namespace kprof {

// The descriptors that come with the first byte of the supervisor's channel.
struct ChannelFiles {
  ssize_t size = -1;  // bytes they came with: 1, 0 at the end of the channel, -1 with errno
  bool cut = false;   // there were more of them
  std::vector<UniqueFd> files;
};

// Does not wait. With `flags` MSG_PEEK the descriptors stay in the channel for another reader, and these are copies.
ChannelFiles ReceiveChannelFiles(int socket, int flags);

class ControlChannel {
 public:
  explicit ControlChannel(UniqueFd socket);

  int fd() const { return socket_.get(); }

  // Takes what has come. After it, Next gives the frames.
  void Receive();
  std::optional<FrameReader::Frame> Next();

  // The first Send sends Hello before it. Bytes that the socket does not take wait for Flush.
  void Send(LaunchMessage type, std::string_view payload = {});
  // With a descriptor, which is borrowed. REQUIRES: !waits_to_send(). False: there is no room now, and nothing was
  // sent.
  bool SendWithFile(LaunchMessage type, std::string_view payload, int fd);
  bool waits_to_send() const { return !closed_ && !outbox_.empty(); }
  void Flush();

  // The other end is gone, or speaks nonsense: both mean that nobody is there to answer to. A daemon of another build
  // has been told so.
  bool closed() const { return closed_; }

  // The files that came with the first byte: kOutputFiles or kOutputSockets. Valid before the first frame. One more may
  // have come, which is held and not touched (client_launcher.h).
  std::vector<UniqueFd>& files() { return files_; }
  // True if the files are sockets for the output, made by the process that made this channel. So the other end cannot
  // hand over some other open file for somebody with more rights to write to.
  bool HasOutputSockets() const;

 private:
  void ReceiveFiles();
  void SendBytes(const std::string& bytes);
  std::string FirstTime(std::string frame);

  UniqueFd socket_;
  std::vector<UniqueFd> files_;
  UniqueFd held_;
  bool has_files_ = false;
  bool closed_ = false;
  bool said_hello_ = false;
  std::string outbox_;
  FrameReader frames_;
};

}  // namespace kprof

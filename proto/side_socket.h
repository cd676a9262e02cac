// The side socket: what gRPC cannot carry between a local client and kprofd, open files, goes over a second Unix
// socket, SOCK_SEQPACKET, at the path of the first with ".fd" behind it. Both ends know each other's uid from the
// socket itself. The client connects, sends one request packet, gets one answer packet, and that is all; a client that
// says nothing within 5 s is given up.
//
//   request   "KPS1"  u8 type  text subject            descriptors as its type says
//   answer    "KPS1"  u8 type + 128  text code, text why, text remedy      code empty: done
//
// A text is u16 length (little-endian) and bytes. Types:
//   1  take the launch of a run (subject: its whole id) that is offered to its client
//   (WatchRunResponse.launch_offered).
//      The answer brings a descriptor: the channel that kprof-launch gets as descriptor 3. kprofd and kprof-launch
//      speak over it (launch_protocol.h). It brings sockets for the output, never a file.
//   2  hold this file, for an import (subject: empty). The request brings one descriptor: a regular file, open for
//      reading alone, with the rights of the user who opened it. The answer's `why` is its ticket; SubmitImport of the
//      same user claims it within a minute. kprofd reads the file (pread) and never maps it. A pipe, or a file system
//      in user space, is refused (`usage`): UploadSource takes the bytes of such.
//   3  pass a run's output straight on (subject: the idempotency key of the SubmitRun that follows). The request brings
//   two descriptors, Unix stream sockets: for what the run's command prints to standard output and to standard error.
//      The run's supervisor gets them and sends there what it also puts into the logs (launch_protocol.h); it waits
//      for a reader that is slow. kprofd holds them until that run starts, and lets them go when the client closes its
//      ends; of 256 that wait, one more is `queue_full`. In user mode alone. Else it is `usage`: whoever starts the
//      supervisor gives it such sockets itself.
// With other descriptors than these a request is not answered.
// How a client of one's own uses it: docs/foreground.md. Codes are those of errors everywhere (docs/cli.md). Other
// types are for requests to come; an unknown one is `usage`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kprof {

inline constexpr std::string_view kSideSocketSuffix = ".fd";
inline constexpr size_t kSidePacketLimitBytes = 8192;
inline constexpr uint8_t kSideTakeLaunch = 1;
inline constexpr uint8_t kSideHoldFile = 2;
inline constexpr uint8_t kSidePassOutput = 3;
inline constexpr uint8_t kSideAnswer = 128;

struct SideRequest {
  uint8_t type = 0;
  std::string subject;
  bool operator==(const SideRequest&) const = default;
};

struct SideAnswer {
  uint8_t type = 0;  // of the request
  std::string code;  // empty: done
  std::string why;
  std::string remedy;
  bool operator==(const SideAnswer&) const = default;
};

namespace side_socket_internal {

inline constexpr std::string_view kMagic = "KPS1";

inline void AddText(std::string& bytes, std::string_view text) {
  text = text.substr(0, 2048);
  bytes += static_cast<char>(text.size() & 0xff);
  bytes += static_cast<char>(text.size() >> 8);
  bytes += text;
}

inline bool TakeText(std::string_view& bytes, std::string& text) {
  if (bytes.size() < 2) return false;
  const size_t size = static_cast<unsigned char>(bytes[0]) | static_cast<size_t>(static_cast<unsigned char>(bytes[1]))
                                                                 << 8;
  if (size > 2048 || bytes.size() - 2 < size) return false;
  text = bytes.substr(2, size);
  bytes.remove_prefix(2 + size);
  return true;
}

inline bool TakeHead(std::string_view& bytes, uint8_t& type) {
  if (!bytes.starts_with(kMagic) || bytes.size() < kMagic.size() + 1) return false;
  type = static_cast<uint8_t>(bytes[kMagic.size()]);
  bytes.remove_prefix(kMagic.size() + 1);
  return true;
}

}  // namespace side_socket_internal

inline std::string EncodeSideRequest(const SideRequest& request) {
  std::string bytes(side_socket_internal::kMagic);
  bytes += static_cast<char>(request.type);
  side_socket_internal::AddText(bytes, request.subject);
  return bytes;
}

// Nothing for bytes that are no request.
inline std::optional<SideRequest> DecodeSideRequest(std::string_view bytes) {
  SideRequest request;
  const bool good = side_socket_internal::TakeHead(bytes, request.type) && request.type < kSideAnswer &&
                    side_socket_internal::TakeText(bytes, request.subject) && bytes.empty();
  if (!good) return std::nullopt;
  return request;
}

inline std::string EncodeSideAnswer(const SideAnswer& answer) {
  std::string bytes(side_socket_internal::kMagic);
  bytes += static_cast<char>(answer.type | kSideAnswer);
  for (const std::string* text : {&answer.code, &answer.why, &answer.remedy}) {
    side_socket_internal::AddText(bytes, *text);
  }
  return bytes;
}

inline std::optional<SideAnswer> DecodeSideAnswer(std::string_view bytes) {
  SideAnswer answer;
  if (!side_socket_internal::TakeHead(bytes, answer.type) || answer.type < kSideAnswer) return std::nullopt;
  answer.type = static_cast<uint8_t>(answer.type - kSideAnswer);
  for (std::string* text : {&answer.code, &answer.why, &answer.remedy}) {
    if (!side_socket_internal::TakeText(bytes, *text)) return std::nullopt;
  }
  if (!bytes.empty()) return std::nullopt;
  return answer;
}

}  // namespace kprof

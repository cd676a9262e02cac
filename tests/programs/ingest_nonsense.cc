// ingest_nonsense: in place of kprof-ingest, for who starts it: greets, then behaves as the name of the source says, a
// word in front of a dash: "crash-trace.json". Never longer than five minutes.
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "daemon/ingest/channel/ingest_process.h"
#include "daemon/ingest/channel/ingest_protocol.h"
#include "storage/base/message_coder.h"

namespace {

using namespace kprof;

void Send(const std::string& bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t sent = ::send(kIngestChannelFd, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (sent <= 0) ::_exit(0);
    done += static_cast<size_t>(sent);
  }
}

void Send(IngestFrame type, const std::string& message) {
  std::string bytes;
  AppendFrame(type, message, bytes);
  Send(bytes);
}

std::string Hello(uint32_t protocol) {
  MessageEncoder hello;
  hello.Add(protocol);
  return hello.Take();
}

std::string WordOfRequest() {
  std::string bytes;
  char more[4096];
  while (true) {
    std::string_view rest = bytes;
    const Result<std::optional<ReceivedFrame>> frame = TakeFrame(rest);
    if (!frame.ok()) ::_exit(2);
    if (*frame) {
      const std::optional<IngestRequest> request = DecodeIngestRequest((*frame)->message);
      return request ? request->name.substr(0, request->name.find('-')) : "";
    }
    const ssize_t got = ::read(kIngestChannelFd, more, sizeof(more));
    if (got <= 0) ::_exit(2);
    bytes.append(more, static_cast<size_t>(got));
  }
}

const std::string kDone = EncodeDone({"chrome", "hash", {}});

}  // namespace

int main() {
  ::alarm(300);
  const std::string word = WordOfRequest();
  if (word == "mute") ::pause();
  if (word == "stranger") Send(IngestFrame::kHello, Hello(kIngestProtocol + 1));
  if (word == "rude") Send(IngestFrame::kDone, kDone);
  if (word == "late") Send(IngestFrame::kHello, Hello(kIngestProtocol) + "x");
  Send(IngestFrame::kHello, Hello(kIngestProtocol));
  Send(IngestFrame::kString, EncodeString(0, ""));
  if (word == "crash") std::abort();
  if (word == "leave") return 3;
  if (word == "slow") std::raise(SIGXCPU);
  if (word == "shout" && ::write(STDERR_FILENO, "of its own\n", 11) == 11) Send(IngestFrame::kString, "said");
  if (word == "poor") return kIngestOutOfMemory;
  if (word == "hang") ::pause();
  if (word == "close") {
    ::close(kIngestChannelFd);
    ::pause();
  }
  while (word == "trickle") {  // a frame of many bytes, which never is whole
    Send(std::string("\x00\x00\x00\x01", 4));
    ::usleep(1000);
    while (true) {
      Send(std::string(1, 'x'));
      ::usleep(1000);
    }
  }
  while (word == "chatter") {  // is busy for ever
    Send(IngestFrame::kProgress, EncodeProgress({1, 1}));
    ::usleep(1000);
  }
  if (word == "huge") Send(std::string("\xff\xff\xff\xff\x03", 5));
  if (word == "again") Send(IngestFrame::kHello, Hello(kIngestProtocol));
  if (word == "request") Send(IngestFrame::kRequest, EncodeIngestRequest({}));
  if (word == "type") Send(static_cast<IngestFrame>(99), "");
  if (word == "string") Send(IngestFrame::kString, "x");
  if (word == "twice") Send(IngestFrame::kString, EncodeString(0, ""));
  if (word == "track") Send(IngestFrame::kTrack, "x");
  if (word == "shape") Send(IngestFrame::kShape, "x");
  if (word == "segment") Send(IngestFrame::kSegment, "x");
  if (word == "text") Send(IngestFrame::kText, "x");
  if (word == "integer") Send(IngestFrame::kInteger, "x");
  if (word == "progress") Send(IngestFrame::kProgress, "x");
  if (word == "done") Send(IngestFrame::kDone, "x");
  if (word == "failed") Send(IngestFrame::kFailed, "x");
  if (word == "sparse") Send(IngestFrame::kString, EncodeString(7, "far away"));
  if (word == "empty") {  // a segment without columns
    EncodedSegment segment;
    segment.rows = 1;
    Send(IngestFrame::kSegment, EncodeSegment(segment));
  }
  if (word == "sidetable") Send(IngestFrame::kSideTable, "x");
  if (word == "siderows") Send(IngestFrame::kSideSegment, "x");
  const SideTable lines{"lines", {{"line", SideType::kInteger, ""}}};
  SideRows rows(lines);
  rows.Add(std::vector<int64_t>{7});
  if (word == "sidenumber") Send(IngestFrame::kSideTable, EncodeSideTable(1, lines));
  if (word == "sidetwice") {
    Send(IngestFrame::kSideTable, EncodeSideTable(0, lines));
    Send(IngestFrame::kSideTable, EncodeSideTable(1, lines));
  }
  if (word == "sidenone") Send(IngestFrame::kSideSegment, EncodeSideSegment(EncodeSideRows(0, rows, 0, 1)));
  if (word == "sidecolumns") {
    Send(IngestFrame::kSideTable, EncodeSideTable(0, lines));
    EncodedSideSegment segment = EncodeSideRows(0, rows, 0, 1);
    segment.columns.push_back(segment.columns[0]);
    Send(IngestFrame::kSideSegment, EncodeSideSegment(segment));
  }
  for (uint32_t i = 0; word == "sidemany"; ++i) {  // is ended when it has gone too far
    Send(IngestFrame::kSideTable, EncodeSideTable(i, {"t" + std::to_string(i), lines.columns}));
  }
  if (word == "refuse") {
    Send(IngestFrame::kFailed, EncodeFailure(Fail(ErrorCode::kBadInput, "read it", "it is not to my taste")));
  }
  Send(IngestFrame::kDone, kDone);
  ::pause();  // does not leave either
}

#include "daemon/net/refusal_log.h"

#include "daemon/base/log.h"

namespace kprof {
namespace {

constexpr int kLinesAtOnce = 5;

}  // namespace

void RefusalLog::Add(TlsRefusal refusal, const std::string& peer, const std::string& certificate) {
  Reason& reason = reasons_[static_cast<size_t>(refusal)];
  pending_ = true;
  if (reason.logged == kLinesAtOnce) {
    ++reason.unlogged;
    reason.last_peer = peer;
    return;
  }
  ++reason.logged;
  const std::string name(TlsRefusalName(refusal));
  const std::string text(TlsRefusalText(refusal));
  if (certificate.empty()) {
    LogWarning("refused a connection", {{"peer", peer}, {"reason", name}, {"why", text}});
  } else {
    LogWarning("refused a connection", {{"peer", peer}, {"certificate", certificate}, {"reason", name}, {"why", text}});
  }
}

void RefusalLog::Flush() {
  pending_ = false;
  for (size_t i = 0; i < kTlsRefusals; ++i) {
    Reason& reason = reasons_[i];
    if (reason.unlogged > 0) {
      const std::string name(TlsRefusalName(static_cast<TlsRefusal>(i)));
      LogWarning("refused more connections",
                 {{"reason", name}, {"count", std::to_string(reason.unlogged)}, {"last_peer", reason.last_peer}});
      // Once it is a flood, it is told of in numbers until it stops.
      reason.logged = kLinesAtOnce - 1;
      reason.unlogged = 0;
      pending_ = true;
    } else {
      reason.logged = 0;
    }
  }
}

}  // namespace kprof

#include "client/cli/verbs/open_session.h"

#include <memory>
#include <string>

#include "client/cli/text/amounts_and_times.h"
#include "client/cli/views/session_text.h"
#include "client/cli/waiting/device_holders.h"
#include "client/cli/waiting/interruptible_call.h"
#include "client/cli/waiting/progress.h"

namespace kprof::cli {
namespace {

// Of the next one: behind others it is for them that it waits.
std::string ForWhom(KprofClient& client, const v1::OpenSessionResponse& response) {
  if (response.queue_position() != 1) return "";
  Result<v1::ListDevicesResponse> devices = client.ListDevices();
  const std::string whom = devices.ok() ? WaitsFor(response.session(), *devices, true) : "";
  return whom.empty() ? "" : "; it waits " + whom;
}

bool IsOver(v1::SessionState state) {
  return state == v1::SESSION_STATE_CLOSED || state == v1::SESSION_STATE_LOST;
}

// What nobody waits for any more must not take the devices when its turn comes.
void CloseUnwanted(const VerbContext& context, const std::string& id) {
  Result<std::unique_ptr<KprofClient>> client = context.connect();
  Status closed = client.ok() ? (*client)->CloseSession(id).status() : client.status();
  if (closed.ok()) return context.output.Note("session " + id + " is closed");
  context.output.Note("session " + id + " may still open; close it with kprofctl session close " + id);
}

}  // namespace

Result<v1::Session> OpenDetachedSession(const v1::OpenSessionRequest& request, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  v1::Session session;
  Status opened;
  {
    InterruptibleCall call(true);
    ProgressLine line(context.output, ProgressAllowed(context.output));
    bool said_queued = false;
    auto on_message = [&](const v1::OpenSessionResponse& response) {
      session = response.session();
      const int64_t now_ns = NowUnixNs();
      const std::string progress = SessionProgress(response, now_ns, now_ns);
      line.Show(progress);
      if (!line.enabled() && !said_queued && response.queue_position() > 0) {
        context.output.Note("session " + progress + ForWhom(*client, response));
        said_queued = true;
      }
      return OkStatus();
    };
    opened = call.Ended(client->OpenSession(request, on_message, call.stop()));
  }
  if (opened.ok()) return session;
  if (!session.id().empty() && !IsOver(session.state())) CloseUnwanted(context, session.id());
  if (session.id().empty() && opened.code() == ErrorCode::kNoDaemon) {
    context.output.Note("if a session was opened all the same, kprofctl session list shows it");
  }
  return opened;
}

}  // namespace kprof::cli

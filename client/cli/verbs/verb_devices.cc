#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>

#include "client/cli/text/amounts_and_times.h"
#include "client/cli/text/terminal_text.h"
#include "client/cli/verbs/live_screen.h"
#include "client/cli/verbs/verbs.h"
#include "client/cli/views/device_screen.h"
#include "client/cli/views/device_table.h"
#include "client/cli/waiting/interrupts.h"
#include "client/cpp/device_follower.h"

namespace kprof::cli {
namespace {

constexpr std::chrono::seconds kWatchEvery(1);
constexpr int kDrawEveryMs = 500;

void WriteList(const v1::ListDevicesResponse& response, const VerbContext& context) {
  if (!context.global.json) {
    WriteDeviceTable(response.devices(), context.output);
    return;
  }
  context.output.Write(JsonLine("kprof.devices.v1", [&](JsonWriter& json) {
    json.Key("devices");
    WriteDevices(json, response.devices());
  }));
}

Status PrintAgainAndAgain(const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  while (true) {
    ASSIGN_OR_RETURN(const v1::ListDevicesResponse response, client->ListDevices());
    WriteList(response, context);
    RETURN_IF_ERROR(context.output.Flush());
    if (context.output.broken()) return OkStatus();
    std::this_thread::sleep_for(kWatchEvery);
    if (!context.global.json) context.output.Write("\n");
  }
}

// Until there is news, a signal, a key, or the time is over.
void WaitForNews(const DeviceFollower& follower, const Interrupts& interrupts, int key_fd, int limit_ms) {
  std::array<pollfd, 3> waits = {pollfd{follower.fd(), POLLIN, 0}, pollfd{interrupts.fd(), POLLIN, 0},
                                 pollfd{key_fd, POLLIN, 0}};
  ::poll(waits.data(), waits.size(), limit_ms);
}

Status WatchLive(const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  ASSIGN_OR_RETURN(const v1::GetStatusResponse status, client->GetStatus());
  const Interrupts interrupts(ExitStatusOf(ErrorCode::kCancelled));
  DeviceFollower follower(context.connect, {{}, -1});
  DeviceScreen devices(status.node_name(), LiveScreen::ShowsUnicode());
  LiveScreen screen(context.output, STDIN_FILENO);
  while (true) {
    DeviceFollower::News news = follower.Take();
    if (news.end) return *news.end;
    devices.Take(news, NowUnixNs());
    screen.Draw(devices.Lines(screen.columns(), screen.rows(), NowUnixNs()));
    WaitForNews(follower, interrupts, screen.key_fd(), kDrawEveryMs);
    if (interrupts.first() != 0 || screen.ReadsQuit() || context.output.broken()) return OkStatus();
  }
}

void WriteEvent(const v1::DeviceEvent& event, const VerbContext& context) {
  if (!context.global.json) {
    context.output.Write(FormatTime(event.unix_ns()) + "  device " + TerminalText(event.device_id()) + "  " +
                         TerminalText(event.kind()) + "  " + TerminalText(event.text()) + "\n");
    return;
  }
  context.output.Write(JsonLine("kprof.device_event.v1", [&](JsonWriter& json) {
    json.Key("time_ns").String(std::to_string(event.unix_ns())).Key("device").String(event.device_id());
    json.Key("kind")
        .String(event.kind())
        .Key("text")
        .String(event.text())
        .Key("value")
        .Int(static_cast<int64_t>(event.value()));
  }));
}

Status FollowEvents(const VerbContext& context) {
  const Interrupts interrupts(ExitStatusOf(ErrorCode::kCancelled));
  DeviceFollower::Options options{{}, context.reconnect_ms};
  options.request.set_events_only(true);
  DeviceFollower follower(context.connect, std::move(options));
  bool was_away = false;
  while (interrupts.first() == 0) {
    WaitForNews(follower, interrupts, -1, -1);
    const DeviceFollower::News news = follower.Take();
    if (news.disconnected != was_away) {
      context.output.Note(news.disconnected ? "the connection to kprofd is lost; trying again"
                                            : "the connection to kprofd is back; what happened meanwhile is not told");
      was_away = news.disconnected;
    }
    if (news.dropped_events > 0) context.output.Note(std::to_string(news.dropped_events) + " events are missing here");
    for (const v1::DeviceEvent& event : news.events) WriteEvent(event, context);
    RETURN_IF_ERROR(context.output.Flush());
    if (context.output.broken()) return OkStatus();
    if (news.end) return *news.end;
  }
  return OkStatus();
}

}  // namespace

Status RunVerb(const DevicesArgs& args, const VerbContext& context) {
  if (args.events) return FollowEvents(context);
  if (args.watch && !context.global.json && LiveScreen::IsPossible(context.output)) return WatchLive(context);
  if (args.watch) return PrintAgainAndAgain(context);
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  ASSIGN_OR_RETURN(const v1::ListDevicesResponse response, client->ListDevices());
  WriteList(response, context);
  return OkStatus();
}

}  // namespace kprof::cli

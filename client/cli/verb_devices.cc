#include <chrono>
#include <thread>

#include "client/cli/device_list.h"
#include "client/cli/verbs.h"

namespace kprof::cli {
namespace {

constexpr std::chrono::seconds kWatchEvery(1);

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

}  // namespace

Status RunVerb(const DevicesArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  bool redraw = args.watch && context.output.result_is_terminal() && !context.global.json;
  for (bool first = true;; first = false) {
    ASSIGN_OR_RETURN(v1::ListDevicesResponse response, client->ListDevices());
    if (redraw) {
      context.output.Write("\x1b[H\x1b[2J");
    } else if (!first && !context.global.json) {
      context.output.Write("\n");
    }
    WriteList(response, context);
    RETURN_IF_ERROR(context.output.Flush());
    if (!args.watch || context.output.broken()) return OkStatus();
    std::this_thread::sleep_for(kWatchEvery);
  }
}

}  // namespace kprof::cli

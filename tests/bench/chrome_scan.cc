// How long it takes to take the events of a Chrome trace apart, in turns on one thread: simdjson on demand, which finds
// eight fields of each by their names, as one writes that; the same by the names' bytes, not unescaped, which is the
// least that a scan can do; all values of each by its layout; and rows made of them.
//
//     build/release/bin/bench_chrome_scan FILE.json [TURNS [bare]]
//
// bare: the two of simdjson alone.
//
// simdjson chooses its instructions when it is compiled: it is built for processors with AVX2.
#include <simdjson.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "daemon/ingest/chrome/chrome_events.h"
#include "daemon/ingest/chrome/event_layouts.h"
#include "daemon/ingest/text/json_scan.h"

namespace {

using namespace kprof;

double SecondsOf(const std::function<size_t()>& work, size_t& events) {
  const auto began = std::chrono::steady_clock::now();
  events = work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// What the name of a field is compared by.
std::string_view Unescaped(simdjson::ondemand::field& field) {
  return field.unescaped_key();
}
simdjson::ondemand::raw_json_string Bytes(simdjson::ondemand::field& field) {
  return field.key();
}

template <typename KeyOf>
size_t BareSimdjson(const simdjson::padded_string& text, const KeyOf& key_of) {
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document = parser.iterate(text);
  size_t events = 0;
  size_t bytes = 0;
  for (simdjson::ondemand::object event : document["traceEvents"]) {
    ++events;
    for (simdjson::ondemand::field field : event) {
      const auto key = key_of(field);
      if (key == "args") {
        simdjson::ondemand::object args;
        if (field.value().get_object().get(args) != simdjson::SUCCESS) continue;
        for (simdjson::ondemand::field arg : args) {
          if (key_of(arg) == "correlation") bytes += arg.value().raw_json_token().size();
        }
      } else if (key == "ph" || key == "cat" || key == "name" || key == "pid" || key == "tid" || key == "ts" ||
                 key == "dur") {
        bytes += field.value().raw_json_token().size();
      }
    }
  }
  return bytes > 0 ? events : 0;
}

const char* FirstEvent(const std::string& text) {
  const size_t key = text.find("\"traceEvents\"");
  return text.data() + text.find('[', key == text.npos ? 0 : key) + 1;
}

size_t ByLayout(const std::string& text, const char* end) {
  EventLayouts layouts;
  size_t events = 0;
  const char* at = FirstEvent(text);
  while (true) {
    at = SkipSpace(at);
    if (*at == ',') at = SkipSpace(at + 1);
    const std::optional<EventLayouts::Event> event = layouts.Take(at, end);
    if (!event) return events;
    at = event->end;
    ++events;
  }
}

size_t Rows(const std::string& text, const char* end) {
  ChromeEvents events(0);
  events.Add(FirstEvent(text), end, end);
  return static_cast<size_t>(events.events());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "bench_chrome_scan FILE.json [TURNS [bare]]\n");
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const simdjson::padded_string padded(text);
  const size_t size = text.size();
  text.append(kScanSlackBytes, '\0');
  const char* end = text.data() + size;
  struct Way {
    const char* name;
    std::function<size_t()> work;
    std::vector<double> seconds;
    size_t events = 0;
  };
  Way ways[] = {{"simdjson, eight fields", [&] { return BareSimdjson(padded, Unescaped); }, {}},
                {"the same by names' bytes", [&] { return BareSimdjson(padded, Bytes); }, {}},
                {"by layout, all values", [&] { return ByLayout(text, end); }, {}},
                {"by layout, rows", [&] { return Rows(text, end); }, {}}};
  const int turns = argc > 2 ? std::atoi(argv[2]) : 5;
  const bool is_bare = argc > 3 && std::string(argv[3]) == "bare";
  const std::span<Way> chosen(ways, is_bare ? 2 : std::size(ways));
  for (int turn = 0; turn < turns; ++turn) {
    for (Way& way : chosen) way.seconds.push_back(SecondsOf(way.work, way.events));
  }
  double first = 0;
  for (Way& way : chosen) {
    std::sort(way.seconds.begin(), way.seconds.end());
    const double median = way.seconds[way.seconds.size() / 2];
    if (first == 0) first = median;
    std::printf("%-24s %zu events, median %.1f ms (%.1f to %.1f), %.2f of simdjson's\n", way.name, way.events,
                median * 1e3, way.seconds.front() * 1e3, way.seconds.back() * 1e3, median / first);
  }
  return 0;
}

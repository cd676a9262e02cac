#include "client/cli/mcp/mcp_resources.h"

#include <charconv>
#include <cstdint>
#include <utility>

#include "storage/base/readable_text.h"

namespace kprof::cli {
namespace {

constexpr std::string_view kScheme = "kprof://";
constexpr std::string_view kArtifacts = "/artifacts/";
constexpr std::string_view kLogs = "/logs/";

constexpr std::pair<std::string_view, std::string_view> kMediaTypes[] = {
    {".json", "application/json"},
    {".jsonl", "application/x-ndjson"},
    {".ndjson", "application/x-ndjson"},
    {".md", "text/markdown"},
    {".csv", "text/csv"},
    {".txt", "text/plain"},
    {".log", "text/plain"},
    {".svg", "image/svg+xml"},
    {".html", "text/html"},
};

std::string_view MediaTypeOf(std::string_view name) {
  for (const auto& [end, type] : kMediaTypes) {
    if (name.ends_with(end)) return type;
  }
  return name.find(kLogs) != std::string_view::npos ? "text/plain" : "application/octet-stream";
}

// As RFC 3986 has a path's segment.
std::string PercentEncoded(std::string_view name) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                          std::string_view("-._~").find(c) != std::string_view::npos;
    if (is_plain) {
      encoded += c;
    } else {
      encoded += {'%', kDigits[byte >> 4], kDigits[byte & 0xf]};
    }
  }
  return encoded;
}

// False for a % without two digits behind it.
bool PercentDecode(std::string_view encoded, std::string& name) {
  for (size_t i = 0; i < encoded.size(); ++i) {
    if (encoded[i] != '%') {
      name += encoded[i];
      continue;
    }
    uint8_t byte = 0;
    if (i + 2 >= encoded.size()) return false;
    const char* const digits = encoded.data() + i + 1;
    if (std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2) return false;
    name += static_cast<char>(byte);
    i += 2;
  }
  return true;
}

std::string Base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) {
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    text += {kDigits[group >> 18], kDigits[group >> 12 & 63], kDigits[group >> 6 & 63], kDigits[group & 63]};
  }
  for (size_t i = 0; i < (3 - bytes.size() % 3) % 3; ++i) text[text.size() - 1 - i] = '=';
  return text;
}

// Of a member that may be missing.
std::string TextIn(const GivenJson& object, std::string_view name) {
  const GivenJson* member = object.Find(name);
  return member == nullptr || member->kind == GivenJson::Kind::kNull ? "" : member->text;
}

bool IsNameOfWord(std::string_view word) {
  return !word.empty() && word.front() != '-' && word.find('\0') == std::string_view::npos;
}

}  // namespace

std::vector<std::string> WordsToListResources() {
  return {"runs", "--limit=20"};
}

void WriteMcpResources(JsonWriter& json, const GivenJson& runs) {
  json.BeginObject().Key("resources").BeginArray();
  const GivenJson* list = runs.Find("runs");
  const std::vector<GivenJson> none;
  for (const GivenJson& run : list != nullptr ? list->items : none) {
    const std::string id = TextIn(run, "id");
    const GivenJson* artifacts = run.Find("artifacts");
    for (const GivenJson& artifact : artifacts != nullptr ? artifacts->items : none) {
      const std::string name = TextIn(artifact, "name");
      json.BeginObject().Key("uri").String(std::string(kScheme) + id + std::string(kArtifacts) + PercentEncoded(name));
      json.Key("name").String(name).Key("description").String("of run " + id + ", tool " + TextIn(run, "tool"));
      json.Key("mimeType").String(MediaTypeOf(name));
      const std::string size = TextIn(artifact, "size_bytes");
      if (!size.empty()) json.Key("size").Raw(size);
      json.EndObject();
    }
  }
  json.EndArray().EndObject();
}

void WriteMcpTemplates(JsonWriter& json) {
  json.BeginObject().Key("resourceTemplates").BeginArray();
  json.BeginObject().Key("uriTemplate").String("kprof://{run}/artifacts/{name}").Key("name").String("artifact");
  json.Key("description").String("A file that a run left, up to 1 MiB").EndObject();
  json.BeginObject().Key("uriTemplate").String("kprof://{run}/logs/{stream}").Key("name").String("log");
  json.Key("description").String("What a run's command printed, up to 1 MiB; stream: stdout or stderr").EndObject();
  json.EndArray().EndObject();
}

Result<std::vector<std::string>> WordsToRead(std::string_view uri) {
  const Status refused = Fail(ErrorCode::kUsage, "read " + ClippedText(uri, 200), "this is the URI of no resource",
                              "write kprof://RUN/artifacts/NAME, kprof://RUN/logs/stdout or kprof://RUN/logs/stderr");
  if (!uri.starts_with(kScheme)) return refused;
  const std::string_view place = uri.substr(kScheme.size());
  const std::string run(place.substr(0, place.find('/')));
  if (!IsNameOfWord(run)) return refused;
  std::string_view rest = place.substr(run.size());
  if (rest == "/logs/stdout") return std::vector<std::string>{"logs", run};
  if (rest == "/logs/stderr") return std::vector<std::string>{"logs", run, "--stderr"};
  if (!rest.starts_with(kArtifacts)) return refused;
  std::string name;
  if (!PercentDecode(rest.substr(kArtifacts.size()), name) || !IsNameOfWord(name)) return refused;
  return std::vector<std::string>{"artifacts", run, "get", name, "-o", "-"};
}

void WriteMcpContents(JsonWriter& json, std::string_view uri, std::string_view bytes) {
  json.BeginObject().Key("contents").BeginArray().BeginObject().Key("uri").String(uri);
  json.Key("mimeType").String(MediaTypeOf(uri));
  if (IsUtf8(bytes)) {
    json.Key("text").String(bytes);
  } else {
    json.Key("blob").String(Base64(bytes));
  }
  json.EndObject().EndArray().EndObject();
}

}  // namespace kprof::cli

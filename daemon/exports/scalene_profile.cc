#include "daemon/exports/scalene_profile.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "daemon/exports/json_bytes.h"
#include "daemon/ingest/scalene/scalene_reader.h"
#include "daemon/ingest/text/json_text.h"

namespace kprof {
namespace {

struct EmptyMember {
  std::string_view key;
  std::string_view json;
};

// The members of every line and every function.
constexpr EmptyMember kOfLine[] = {{"n_cpu_percent_python", "0.0"},
                                   {"n_cpu_percent_c", "0.0"},
                                   {"n_sys_percent", "0.0"},
                                   {"n_core_utilization", "0.0"},
                                   {"n_peak_mb", "0.0"},
                                   {"n_avg_mb", "0.0"},
                                   {"n_python_fraction", "0.0"},
                                   {"n_copy_mb_s", "0.0"},
                                   {"n_gpu_percent", "0.0"},
                                   {"n_gpu_peak_memory_mb", "0.0"},
                                   {"n_gpu_avg_memory_mb", "0.0"},
                                   {"n_usage_fraction", "0.0"},
                                   {"n_malloc_mb", "0.0"},
                                   {"n_mallocs", "0"},
                                   {"n_growth_mb", "0.0"},
                                   {"memory_samples", "[]"},
                                   {"cpu_samples_list", "[]"},
                                   {"async_task_names", "[]"},
                                   {"is_coroutine", "false"},
                                   {"n_async_await_percent", "0.0"},
                                   {"n_async_concurrency_mean", "0.0"},
                                   {"n_async_concurrency_peak", "0.0"}};

constexpr EmptyMember kOfFile[] = {{"imports", "[]"}, {"leaks", "{}"}, {"percent_cpu_time", "0.0"}};

constexpr EmptyMember kOfProfile[] = {{"alloc_samples", "0"},
                                      {"args", "[]"},
                                      {"elapsed_time_sec", "0.0"},
                                      {"start_time_absolute", "0.0"},
                                      {"start_time_perf", "0.0"},
                                      {"entrypoint_dir", "\"\""},
                                      {"filename", "\"\""},
                                      {"gpu", "false"},
                                      {"gpu_device", "\"\""},
                                      {"growth_rate", "0.0"},
                                      {"max_footprint_fname", "null"},
                                      {"max_footprint_lineno", "null"},
                                      {"max_footprint_mb", "0"},
                                      {"max_footprint_python_fraction", "0.0"},
                                      {"memory", "false"},
                                      {"program", "\"\""},
                                      {"samples", "[]"},
                                      {"stacks", "[]"}};

// A text between quotes as text; of other JSON nothing.
std::string TextIn(const std::string* json) {
  if (json == nullptr || json->size() < 2 || json->front() != '"') return "";
  return UnescapeJson(std::string_view(*json).substr(1, json->size() - 2));
}

std::string NormalPath(const std::string& path, const std::string& folder) {
  const std::filesystem::path named(path);
  const bool is_within = named.is_relative() && !folder.empty();
  return (is_within ? std::filesystem::path(folder) / named : named).lexically_normal().string();
}

// `name` with its beginning replaced, where it begins so: "/a" is a beginning of "/a/b" and not of "/ab".
std::string MappedPath(const std::string& name, const std::vector<PathMap>& maps) {
  const bool is_relative = !name.starts_with('/');
  for (const PathMap& map : maps) {
    if (map.from == "." && is_relative) return map.to + "/" + name;
    std::string_view from = map.from;
    while (from.ends_with('/')) from.remove_suffix(1);
    if (!name.starts_with(from) || (name.size() > from.size() && name[from.size()] != '/')) continue;
    return map.to + name.substr(from.size());
  }
  return name;
}

// The objects of a list.
std::vector<JsonMembers> ObjectsOf(std::string_view json) {
  std::vector<JsonMembers> objects;
  std::string text(json);
  text.append(kScanSlackBytes, '\0');
  const char* const end = text.data() + json.size();
  const char* at = SkipSpace(text.data());
  if (at >= end || *at != '[') return objects;
  at = SkipSpace(at + 1);
  while (at < end && *at != ']') {
    const char* const value_end = FindValueEnd(at, end);
    if (value_end == nullptr) break;
    objects.push_back(JsonMembers::Of({at, static_cast<size_t>(value_end - at)}));
    at = SkipSpace(value_end);
    if (at >= end || *at != ',') break;
    at = SkipSpace(at + 1);
  }
  return objects;
}

}  // namespace

JsonMembers JsonMembers::Of(std::string_view json) {
  JsonMembers object;
  std::string text(json);
  text.append(kScanSlackBytes, '\0');
  ForEachMember(SkipSpace(text.data()), text.data() + json.size(), [&](std::string_view key, std::string_view value) {
    object.members_.emplace_back(UnescapeJson(key), value);
    return true;
  });
  return object;
}

const std::string* JsonMembers::Find(std::string_view key) const {
  for (const auto& [name, json] : members_) {
    if (name == key) return &json;
  }
  return nullptr;
}

void JsonMembers::Set(std::string_view key, std::string json) {
  for (auto& [name, value] : members_) {
    if (name != key) continue;
    value = std::move(json);
    return;
  }
  members_.emplace_back(key, std::move(json));
}

void JsonMembers::SetIfNone(std::string_view key, std::string_view json) {
  if (Find(key) == nullptr) members_.emplace_back(key, json);
}

void JsonMembers::Remove(std::string_view key) {
  std::erase_if(members_, [key](const auto& member) { return member.first == key; });
}

std::optional<double> JsonMembers::Number(std::string_view key) const {
  const std::string* const json = Find(key);
  double number = 0;
  if (json == nullptr) return std::nullopt;
  const auto [end, error] = std::from_chars(json->data(), json->data() + json->size(), number);
  const bool is_number = error == std::errc() && end == json->data() + json->size() && std::isfinite(number);
  return is_number ? std::optional(number) : std::nullopt;
}

std::optional<int64_t> JsonMembers::Integer(std::string_view key) const {
  const std::string* const json = Find(key);
  int64_t number = 0;
  if (json == nullptr) return std::nullopt;
  const auto [end, error] = std::from_chars(json->data(), json->data() + json->size(), number);
  return error == std::errc() && end == json->data() + json->size() ? std::optional(number) : std::nullopt;
}

void JsonMembers::AppendMembersTo(std::string& out) const {
  bool is_first = true;
  for (const auto& [name, json] : members_) {
    if (!is_first) out += ',';
    is_first = false;
    AppendJsonText(out, name);
    out += ':';
    out += json;
  }
}

void JsonMembers::AppendTo(std::string& out) const {
  out += '{';
  AppendMembersTo(out);
  out += '}';
}

JsonMembers EmptyScaleneLine(std::string_view text, int64_t line, bool is_function) {
  JsonMembers members;
  line = std::max<int64_t>(line, 1);
  members.Set("lineno", std::to_string(line));
  std::string quoted;
  AppendJsonText(quoted, text);
  members.Set("line", std::move(quoted));
  for (const EmptyMember& empty : kOfLine) members.Set(empty.key, std::string(empty.json));
  if (is_function) return members;
  // A region of one line: Scalene counts lines from 1.
  for (const char* place : {"start_region_line", "end_region_line", "start_outermost_loop", "end_outermost_loop"}) {
    members.Set(place, std::to_string(line));
  }
  for (const char* place : {"start_function_line", "end_function_line"}) members.Set(place, "0");
  return members;
}

JsonMembers& ScaleneFile::LineAt(int64_t line) {
  if (places_.empty()) {
    for (size_t i = 0; i < lines.size(); ++i) places_.emplace(lines[i].Integer("lineno").value_or(-1), i);
  }
  const auto [place, is_new] = places_.try_emplace(std::max<int64_t>(line, 1), lines.size());
  if (is_new) lines.push_back(EmptyScaleneLine("", line, false));
  return lines[place->second];
}

std::vector<std::string> ScaleneProfile::Places() const {
  const std::string folder = TextIn(members.Find("entrypoint_dir"));
  std::vector<std::string> places;
  for (const ScaleneFile& file : files) {
    const bool is_mapped_as_it_is = file.name.starts_with('/') || MappedPath(file.name, path_maps) != file.name;
    const std::string name = is_mapped_as_it_is ? file.name : NormalPath(file.name, folder);
    places.push_back(NormalPath(MappedPath(name, path_maps), folder));
  }
  return places;
}

std::vector<PathMap> ScaleneProfile::UnusedMaps() const {
  const std::string folder = TextIn(members.Find("entrypoint_dir"));
  std::vector<PathMap> unused;
  for (const PathMap& map : path_maps) {
    const bool is_used = std::any_of(files.begin(), files.end(), [&](const ScaleneFile& file) {
      const std::string whole = NormalPath(file.name, folder);
      return MappedPath(file.name, {map}) != file.name || MappedPath(whole, {map}) != whole;
    });
    if (!is_used) unused.push_back(map);
  }
  return unused;
}

ScaleneFile& ScaleneProfile::FileAt(const std::string& path) {
  if (at_.empty()) {
    const std::vector<std::string> places = Places();
    for (size_t i = 0; i < places.size(); ++i) at_.try_emplace(places[i], i);
  }
  const auto [at, is_new] = at_.try_emplace(NormalPath(path, TextIn(members.Find("entrypoint_dir"))), files.size());
  if (!is_new) return files[at->second];
  ScaleneFile& file = files.emplace_back();
  file.name = path;
  for (const EmptyMember& empty : kOfFile) file.members.Set(empty.key, std::string(empty.json));
  return file;
}

void ScaleneProfile::Complete() {
  for (const EmptyMember& empty : kOfProfile) members.SetIfNone(empty.key, empty.json);
  for (ScaleneFile& file : files) {
    for (const EmptyMember& empty : kOfFile) file.members.SetIfNone(empty.key, empty.json);
  }
}

bool HasScaleneProfile(const PartReader& part) {
  const StoredSideTable* const table = part.FindSideTable(ScaleneProfileTable().name);
  return table != nullptr && table->table == ScaleneProfileTable();
}

Result<ScaleneProfile> ReadScaleneProfile(PartReader& part) {
  ScaleneProfile profile;
  const StoredSideTable& table = *part.FindSideTable(ScaleneProfileTable().name);
  int64_t last_file = kNoValue;
  for (const SideSegment& segment : table.segments) {
    ASSIGN_OR_RETURN(const DecodedColumn files, part.ReadSide(segment, 0));
    ASSIGN_OR_RETURN(const DecodedColumn keys, part.ReadSide(segment, 1));
    ASSIGN_OR_RETURN(const DecodedColumn values, part.ReadSide(segment, 2));
    for (size_t row = 0; row < segment.rows; ++row) {
      if ((*keys)[row] == kNoValue || (*values)[row] == kNoValue) continue;
      ASSIGN_OR_RETURN(const std::string key, part.ReadString((*keys)[row]));
      ASSIGN_OR_RETURN(std::string json, part.ReadString((*values)[row]));
      const int64_t file = (*files)[row];
      if (file == kNoValue) {
        profile.members.Set(key, std::move(json));
        continue;
      }
      if (file != last_file || profile.files.empty()) {
        last_file = file;
        profile.files.emplace_back();
        ASSIGN_OR_RETURN(profile.files.back().name, part.ReadString(file));
      }
      ScaleneFile& of = profile.files.back();
      if (key == kScaleneLineKey) {
        of.lines.push_back(JsonMembers::Of(json));
      } else if (key == "functions") {
        of.functions = ObjectsOf(json);
      } else if (key != "lines") {
        of.members.Set(key, std::move(json));
      }
    }
  }
  return profile;
}

}  // namespace kprof

// A profile of Scalene in memory: members as they are written, by their keys, in their order. It is what the part of an
// imported profile has, or an empty one with all that Scalene's schema asks for.
//
// Values; one thread, that of the readers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/exports/trace_export.h"
#include "storage/base/status.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {

// An object whose members keep their order. Values are JSON.
class JsonMembers {
 public:
  // Those of a JSON object; of other text none.
  static JsonMembers Of(std::string_view json);

  const std::string* Find(std::string_view key) const;
  // In the place of the member of that key, else at the end.
  void Set(std::string_view key, std::string json);
  void SetIfNone(std::string_view key, std::string_view json);
  void Remove(std::string_view key);
  std::optional<double> Number(std::string_view key) const;
  std::optional<int64_t> Integer(std::string_view key) const;
  // {"a":1,"b":[]}
  void AppendTo(std::string& out) const;
  // "a":1,"b":[]
  void AppendMembersTo(std::string& out) const;

 private:
  std::vector<std::pair<std::string, std::string>> members_;
};

struct ScaleneFile {
  std::string name;
  JsonMembers members;  // but for "functions" and "lines"
  std::vector<JsonMembers> functions;
  std::vector<JsonMembers> lines;

  // The line of that number, a new one where there is none; new ones have all that Scalene's schema asks for.
  JsonMembers& LineAt(int64_t line);

 private:
  std::map<int64_t, size_t> places_;  // of lines, by their numbers
};

struct ScaleneProfile {
  JsonMembers members;  // but for "files"
  std::vector<ScaleneFile> files;
  std::vector<PathMap> path_maps;  // of its files

  // The file of that path, a new one where there is none. Paths are the same where they name one file, whatever steps
  // they take: /a/./b and /a/c/../b; relative ones begin at the profile's "entrypoint_dir". A bare name is no path.
  // Paths of the profile are changed by the first of `path_maps` that fits. REQUIRES: since the first call nobody else
  // adds files or maps.
  ScaleneFile& FileAt(const std::string& path);
  // The places of all its files, absolute where they can be.
  std::vector<std::string> Places() const;
  // The ones of `path_maps` that change no path of its files. REQUIRES: no file was added.
  std::vector<PathMap> UnusedMaps() const;
  // Adds what Scalene's schema asks for where it is not there.
  void Complete();

 private:
  std::map<std::string, size_t> at_;  // of files, by their places
};

// A line, or a function, of which nothing is known but its place. Lines count from 1.
JsonMembers EmptyScaleneLine(std::string_view text, int64_t line, bool is_function);

bool HasScaleneProfile(const PartReader& part);
// REQUIRES: it has one. Fails as reading does.
Result<ScaleneProfile> ReadScaleneProfile(PartReader& part);

}  // namespace kprof

#include "daemon/runs/object_names.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string_view>

#include "daemon/runs/run_id.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr std::string_view kLast = "@last";
constexpr size_t kObjectNameLimitBytes = 64;

// N of "@last~N", 0 of "@last"; nothing for what is neither.
std::optional<int64_t> ParseLast(std::string_view name) {
  if (!name.starts_with(kLast)) return std::nullopt;
  name.remove_prefix(kLast.size());
  if (name.empty()) return 0;
  int64_t back = 0;
  if (name[0] != '~') return std::nullopt;
  auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), back);
  if (error == std::errc::invalid_argument || end != name.data() + name.size() || name[1] == '-') return std::nullopt;
  return error == std::errc::result_out_of_range ? INT64_MAX : back;
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

}  // namespace

std::string ActOn(const std::string& act, const std::string& name) {
  return act + " " + ClippedText(name, kObjectNameLimitBytes);
}

Result<std::string> ResolveName(const std::string& name, const NamedObjects& objects, const std::string& act) {
  const std::string noun = objects.noun;
  if (std::optional<int64_t> back = ParseLast(name)) return objects.recent(*back);
  if (name.empty() || name[0] == '@') {
    return Fail(ErrorCode::kUsage, act, "that is not a " + noun + " id",
                "give an id, a beginning of one, @last or @last~N");
  }
  if (!LooksLikeRunId(name)) return Fail(ErrorCode::kNotFound, act, "there is no such " + noun);
  const std::string prefix = LowerCase(name);
  if (prefix.size() == kRunIdLength) return prefix;
  ASSIGN_OR_RETURN(std::vector<std::string> ids, objects.starting(prefix));
  if (ids.empty()) return Fail(ErrorCode::kNotFound, act, "there is no such " + noun, objects.remedy);
  if (ids.size() > 1) {
    return Fail(ErrorCode::kUsage, act, "more than one " + noun + " begins so: " + ids[1] + ", " + ids[0],
                "give more of the id");
  }
  return ids[0];
}

}  // namespace kprof

#include "daemon/config/toml_table.h"

#include <algorithm>

#include "storage/base/readable_text.h"

namespace kprof {

void ConfigErrors::AddAt(uint64_t line, const std::string& why) {
  lines_.push_back({line, why});
}

void ConfigErrors::Add(const Status& status) {
  if (!status.ok()) others_.push_back(status);
}

std::vector<Status> ConfigErrors::InOrder() const {
  std::vector<Line> lines = lines_;
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.number < b.number; });
  std::vector<Status> all;
  all.reserve(lines.size() + others_.size());
  for (const Line& line : lines) {
    all.push_back(Fail(ErrorCode::kUsage, file_ + ":" + std::to_string(line.number), line.why));
  }
  all.insert(all.end(), others_.begin(), others_.end());
  return all;
}

namespace {

bool IsPlain(std::string_view text) {
  return TerminalText(text) == text;
}

}  // namespace

TableReader::TableReader(const toml::table& table, ConfigErrors& complaints, std::string name)
    : table_(table), complaints_(complaints), name_(std::move(name)) {}

const toml::node* TableReader::Take(std::string_view key) {
  taken_.insert(std::string(key));
  return table_.get(key);
}

void TableReader::Text(std::string_view key, std::string& out) {
  if (const toml::node* node = Take(key)) {
    auto value = node->value_exact<std::string>();
    if (!value) return Complain(*node, key, "is not a string");
    if (value->empty()) return Complain(*node, key, "is empty; leave it out for the default");
    // A path would end at a zero byte, and a device's name at one in a command's environment; both are shown to people.
    if (!IsPlain(*value)) {
      return Complain(*node, key, "holds a control character");
    }
    out = *value;
  }
}

void TableReader::AbsolutePath(std::string_view key, std::string& out) {
  std::string path;
  Text(key, path);
  if (path.empty()) return;
  if (path[0] != '/') return Complain(*table_.get(key), key, "is not an absolute path");
  out = path;
}

std::vector<TableReader::Line> TableReader::Texts(std::string_view key) {
  std::vector<Line> texts;
  const toml::node* node = Take(key);
  if (node == nullptr) return texts;
  const toml::array* array = node->as_array();
  if (array == nullptr) {
    Complain(*node, key, "is not a list of strings");
    return {};
  }
  for (const toml::node& element : *array) {
    auto value = element.value_exact<std::string>();
    if (!value || value->empty() || !IsPlain(*value)) {
      Complain(element, key, "holds what is no string, an empty one or one with a control character");
      continue;
    }
    texts.push_back({*value, element.source().begin.line});
  }
  return texts;
}

void TableReader::Boolean(std::string_view key, bool& out) {
  if (const toml::node* node = Take(key)) {
    auto value = node->value_exact<bool>();
    if (!value) return Complain(*node, key, "is neither true nor false");
    out = *value;
  }
}

void TableReader::Integer(std::string_view key, int64_t low, int64_t high, int64_t& out) {
  if (const toml::node* node = Take(key)) {
    auto value = node->value_exact<int64_t>();
    if (!value || *value < low || *value > high) {
      Complain(*node, key, "is not a whole number from " + std::to_string(low) + " to " + std::to_string(high));
    } else {
      out = *value;
    }
  }
}

void TableReader::Part(std::string_view key, std::string_view whole_key, int64_t whole, int64_t& out) {
  if (const toml::node* node = Take(key)) {
    auto value = node->value_exact<int64_t>();
    if (!value || *value < 1) return Complain(*node, key, "is not a whole number from 1");
    if (*value > whole) {
      return Complain(
          *node, key,
          "is more than '" + std::string(whole_key) + "' (" + std::to_string(whole) + "), whose part it is");
    }
    out = *value;
  }
}

void TableReader::Integers(std::string_view key, std::vector<int>& out) {
  if (const toml::node* node = Take(key)) {
    const toml::array* array = node->as_array();
    if (array == nullptr) return Complain(*node, key, "is not a list of numbers");
    for (const toml::node& element : *array) {
      auto value = element.value_exact<int64_t>();
      if (!value || *value < 0 || *value > 65535) {
        Complain(element, key, "holds what is no core number");
        continue;
      }
      out.push_back(static_cast<int>(*value));
    }
  }
}

const toml::table* TableReader::Table(std::string_view key) {
  const toml::node* node = Take(key);
  if (node == nullptr) return nullptr;
  if (!node->is_table()) Complain(*node, key, "is not a table");
  return node->as_table();
}

const toml::array* TableReader::Tables(std::string_view key) {
  const toml::node* node = Take(key);
  if (node == nullptr) return nullptr;
  if (!node->is_array_of_tables()) {
    Complain(*node, key, "is not a list of tables; write [[" + std::string(key) + "]]");
  }
  return node->as_array();
}

void TableReader::Complain(const toml::node& node, std::string_view key, const std::string& why) {
  ComplainAt(node.source().begin.line, "'" + std::string(key) + "' " + why);
}

void TableReader::ComplainAt(uint64_t line, const std::string& why) {
  complaints_.AddAt(line, name_ + why);
}

void TableReader::Finish() {
  std::string known;
  for (const std::string& key : taken_) known += (known.empty() ? "" : ", ") + key;
  for (auto&& [key, node] : table_) {
    if (taken_.contains(std::string(key.str()))) continue;
    ComplainAt(key.source().begin.line,
               "there is no setting '" + TerminalText(key.str()) + "' here; there are: " + known);
  }
}

}  // namespace kprof

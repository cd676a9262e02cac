// What is known of something, in lines for people: "name      value", a name only on the first line of several.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace kprof::cli {

class Facts {
 public:
  void Add(std::string_view name, std::string_view safe_value) {
    std::string label(name == last_ ? "" : name);
    last_ = name;
    label.resize(std::max<size_t>(label.size() + 1, 12), ' ');
    text_ += label + std::string(safe_value) + "\n";
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
  std::string last_;
};

}  // namespace kprof::cli

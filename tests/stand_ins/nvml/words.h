// The words after a command's name, taken one after another. What is wrong with them is kept, and told at the end;
// until then what is taken is zero or empty.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace kprof::nvml_stand_in {

class Words {
 public:
  explicit Words(std::vector<std::string> words) : words_(std::move(words)) {}

  bool more() const { return next_ < words_.size(); }

  // `what` names it in messages: "no number of megahertz".
  std::string Text(std::string_view what);
  uint64_t Number(std::string_view what, uint64_t least = 0, uint64_t most = UINT64_MAX);
  unsigned Small(std::string_view what, unsigned least = 0, unsigned most = UINT32_MAX);
  // The place of the word among these.
  unsigned OneOf(std::string_view what, std::initializer_list<std::string_view> words);
  bool OnOff(std::string_view what);  // on, off, 1, 0
  // If the next word is this one, takes it.
  bool Take(std::string_view word);
  std::string Rest(std::string_view what);  // all, with spaces between them

  void Fail(std::string why);

  // What is wrong, words that nobody took among it; empty: nothing.
  std::string Wrong();

 private:
  const std::vector<std::string> words_;
  size_t next_ = 0;
  std::string wrong_;
};

}  // namespace kprof::nvml_stand_in

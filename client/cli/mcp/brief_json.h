// A result of kprofctl --json, made short for a reader who pays for each word: the first items of each list, the first
// part of each long text, without members that nobody decides by. Takes the JSON in pieces and keeps the short text
// alone, so a result of any size costs no more memory than its short form.
//
//   {"kernels":[{...},... 980 of them]}  ->  {"kernels":[{...}, ... 20 of them],"kernels_left_out":960}
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace kprof::cli {

struct BriefOptions {
  size_t most_items = 20;     // of each list of objects or lists
  size_t most_values = 100;   // of each list of numbers or texts
  size_t most_members = 100;  // of each object
  size_t most_text_bytes = 600;
  std::set<std::string_view> leave_out;  // members of these names, wherever they are
};

// REQUIRES: the pieces are valid JSON together; nonsense gives nonsense, and no more. One thread.
class BriefJson {
 public:
  explicit BriefJson(BriefOptions options) : options_(std::move(options)) {}

  void Add(std::string_view bytes);

  // True once the one object is whole.
  bool is_whole_object() const { return levels_.empty() && text_.starts_with('{'); }
  const std::string& text() const { return text_; }
  // Something of a list, an object or a text is missing, `leave_out` apart.
  bool has_left_out() const { return has_left_out_; }

 private:
  enum class In { kNothing, kName, kText, kWord };
  struct Level {
    bool is_list = false;
    size_t kept = 0;
    size_t left_out = 0;
    std::string name;  // of the member under way, with quotes and escapes
  };

  bool is_dropping() const { return dropping_from_ > 0; }
  void AddOutside(char c);
  void AddToText(char c);
  // `most_items`: of a list that it is an item of.
  void BeginValue(size_t most_items);
  void EndValue();
  void Open(char c);
  void Close(char c);
  void EndName();
  void EndText();
  void Drop(bool counts);

  // Set once.
  const BriefOptions options_;

  std::string text_;
  bool has_left_out_ = false;
  std::vector<Level> levels_;
  size_t dropping_from_ = 0;  // the number of levels above the value that is left out; 0: none is
  In in_ = In::kNothing;
  bool awaits_name_ = false;  // of the next member, in an object
  int escape_bytes_ = 0;      // of the escape under way that are still to come
  size_t text_bytes_ = 0;     // of the text under way
  size_t cut_bytes_ = 0;      // of these, those that were left out
};

}  // namespace kprof::cli

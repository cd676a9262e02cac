#include "daemon/base/user_names.h"

#include <utility>

namespace kprof {
namespace {

constexpr size_t kMostKnown = 4096;
constexpr size_t kMostWanted = 64;

}  // namespace

std::optional<std::string> UserNames::NameOf(uint32_t uid) {
  const auto found = known_.find(uid);
  if (found != known_.end()) return found->second;
  if (wanted_.size() < kMostWanted) wanted_.insert(uid);
  AskNext();
  return std::nullopt;
}

std::string UserNames::TextFor(uint32_t uid) {
  const std::optional<std::string> name = NameOf(uid);
  return name ? "user " + *name : "uid " + std::to_string(uid);
}

void UserNames::AskNext() {
  if (asks_ || wanted_.empty()) return;
  const uint32_t uid = *wanted_.begin();
  wanted_.erase(wanted_.begin());
  const Status begun = lookups_.Run([this, uid, find = find_]() -> std::function<void()> {
    const Result<Account> account = find(uid);
    // One whom the directory could not look up now may be known later.
    const bool is_settled = account.ok() || account.status().code() == ErrorCode::kNotFound;
    std::optional<std::string> name;
    if (account.ok()) name = account->name;
    return [this, uid, is_settled, name = std::move(name)] {
      asks_ = false;
      if (known_.size() >= kMostKnown) known_.clear();
      if (is_settled) known_[uid] = name;
      AskNext();
    };
  });
  asks_ = begun.ok();
}

}  // namespace kprof

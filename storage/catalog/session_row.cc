#include "storage/catalog/session_row.h"

#include <array>
#include <cstddef>

namespace kprof {
namespace {

// In the order of SessionState, whose numbers are in the database.
constexpr std::array<std::string_view, 5> kSessionStateNames = {"queued", "open", "closing", "closed", "lost"};
static_assert(static_cast<size_t>(SessionState::kLost) + 1 == kSessionStateNames.size());

}  // namespace

std::string_view SessionStateName(SessionState state) {
  return kSessionStateNames[static_cast<size_t>(state)];
}

}  // namespace kprof

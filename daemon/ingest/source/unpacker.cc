#include "daemon/ingest/source/unpacker.h"

#include <string>

namespace kprof {

Status NotPackedBehind(std::string_view tool, int64_t source_bytes) {
  const std::string name(tool);
  return Fail(ErrorCode::kBadInput, "unpack " + name,
              "from byte " + std::to_string(source_bytes) +
                  " of the file on, behind what is packed, stands what is no " + name);
}

}  // namespace kprof

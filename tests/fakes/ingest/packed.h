// Bytes packed as the tools gzip and zstd do it.
#pragma once

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <string>

#include "storage/base/status.h"

namespace kprof {

inline std::string Gzip(const std::string& text) {
  std::string packed(text.size() + text.size() / 8 + 1024, '\0');
  isal_zstream stream;
  isal_deflate_stateless_init(&stream);
  stream.end_of_stream = 1;
  stream.gzip_flag = IGZIP_GZIP;
  stream.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uint32_t>(text.size());
  stream.next_out = reinterpret_cast<uint8_t*>(packed.data());
  stream.avail_out = static_cast<uint32_t>(packed.size());
  KPROF_CHECK(isal_deflate_stateless(&stream) == COMP_OK);
  packed.resize(stream.total_out);
  return packed;
}

inline std::string Zstd(const std::string& text) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);  // as the tool does
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  const size_t size = ZSTD_compress2(context, packed.data(), packed.size(), text.data(), text.size());
  ZSTD_freeCCtx(context);
  KPROF_CHECK(!ZSTD_isError(size));
  packed.resize(size);
  return packed;
}

}  // namespace kprof

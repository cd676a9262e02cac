// The text of a source that is not packed: the file as it is.
#pragma once

#include <memory>

#include "daemon/ingest/source/source_file.h"
#include "daemon/ingest/source/text_source.h"

namespace kprof {

// The file must outlive it.
std::unique_ptr<TextSource> OpenPlainText(const SourceFile& file);

}  // namespace kprof

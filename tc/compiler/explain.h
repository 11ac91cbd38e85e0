// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tc/compiler/pipeline.h"

namespace tc::compiler {

/// What became of a program, for a person.
struct Report {
  struct Section {
    std::string title;
    std::string text;      ///< ends with a line end
    bool is_long = false;  ///< folded where the reader can unfold it
  };
  std::string title;
  std::vector<Section> sections;
  std::vector<Diagnostic> warnings;  ///< of the program
};

/// The stages of one call: ranges, fusion with its reasons, schedule, kernels in numbers, tile
/// program, and the CUDA text or the kernels. Needs no device. Errors: those of a compilation.
Result<Report, Failure> explain(const SourceBuffer& source, std::string_view def,
                                const Metadata& metadata, const MappingOptions& options,
                                const Target& target);

/// The report as text with titles over the sections, and as a page that needs nothing beside.
std::string to_text(const Report& report);
std::string to_html(const Report& report);

}  // namespace tc::compiler

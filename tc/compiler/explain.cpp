// SPDX-License-Identifier: Apache-2.0
#include "tc/compiler/explain.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tc/compiler/cuda_build.h"
#include "tc/kernel/plan.h"
#include "tc/support/numeric.h"

namespace tc::compiler {
namespace {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
    case '&': result += "&amp;"; break;
    case '<': result += "&lt;"; break;
    case '>': result += "&gt;"; break;
    case '"': result += "&quot;"; break;
    default: result += c;
    }
  }
  return result;
}

/// Bytes of the buffers of each space that the nodes declare.
void count_locals(const std::vector<tile::Node>& nodes,
                  std::map<std::string, std::int64_t>& bytes) {
  for (const auto& node : nodes) {
    if (const auto* loop = std::get_if<std::shared_ptr<const tile::Loop>>(&node))
      count_locals((*loop)->body, bytes);
    const auto* local = std::get_if<tile::Local>(&node);
    if (!local) continue;
    const char* space = local->buffer->space == kernel::Space::Shared     ? "shared memory"
                        : local->buffer->space == kernel::Space::Register ? "registers of a thread"
                                                                          : "local memory";
    bytes[space] += kernel::span_bytes(*local->buffer);
  }
}

void collect_labels(const std::vector<tile::Node>& nodes, std::vector<std::string>& labels) {
  for (const auto& node : nodes) {
    if (const auto* loop = std::get_if<std::shared_ptr<const tile::Loop>>(&node))
      collect_labels((*loop)->body, labels);
    if (const auto* op = std::get_if<tile::Op>(&node))
      if (std::find(labels.begin(), labels.end(), op->label) == labels.end())
        labels.push_back(op->label);
  }
}

/// One line per fact of each kernel.
std::string describe(const tile::Program& program) {
  std::string text;
  for (const auto& kernel : program.kernels) {
    text += fmt::format("{}\n", kernel.name);
    std::vector<std::string> labels, tiles;
    collect_labels(kernel.body, labels);
    text += fmt::format("  operations: {}\n", fmt::join(labels, ", "));
    std::int64_t tasks = 1;
    for (const auto& loop : kernel.grid) {
      const std::int64_t count = ceil_div(loop.end - loop.begin, loop.step);
      tiles.push_back(fmt::format("{} of {} by {}", count, loop.var.name, loop.step));
      tasks *= std::max<std::int64_t>(count, 0);
    }
    text += fmt::format("  tiles: {}{}\n", tasks,
                        tiles.empty() ? "" : fmt::format(" ({})", fmt::join(tiles, " x ")));
    if (kernel.thread) text += fmt::format("  threads of a block: {}\n", kernel.thread->extent);
    std::map<std::string, std::int64_t> bytes;
    count_locals(kernel.body, bytes);
    for (const auto& [space, count] : bytes)
      text += fmt::format("  {}: {} bytes\n", space, count);
  }
  text += fmt::format("scratch: {} bytes\n", program.scratch_bytes);
  return text;
}

std::string with_line_end(std::string text) {
  if (text.empty() || text.back() != '\n') text += '\n';
  return text;
}

}  // namespace

Result<Report, Failure> explain(const SourceBuffer& source, std::string_view def,
                                const Metadata& metadata, const MappingOptions& options,
                                const Target& target) {
  Result<FrontEnd, Failure> front = front_end(source, def, metadata, fresh_alignment(target));
  if (!front) return front.error();
  if (auto failure = prove(source, *front)) return *failure;
  std::map<Stage, std::string> texts;
  const StageObserver observe = [&](Stage stage, const std::function<std::string()>& print) {
    texts[stage] = with_line_end(print());
  };
  Result<tile::Program, Failure> program = make_tile_program(*front, options, target, observe);
  if (!program) return with_places(source, program.error());
  const Result<tile::Program, Failure> selected = select_layouts(*program, options, target);
  if (!selected) return selected.error();
  // Operations that have a layout keep it.
  Result<kernel::Plan, Failure> plan = make_plan(*selected, options, target, observe);
  if (!plan) return plan.error();
  const bool gpu = target.kind == TargetKind::Cuda;
  std::string code = texts[Stage::Kernel];
  if (gpu) {
    auto text = cuda_source(*plan, options, target);
    if (!text) return text.error();
    code = text->text;
  }
  Report report;
  report.warnings = front->warnings;
  report.title = fmt::format("{} for {}", front->specialised.name, target.arch);
  report.sections = {
      {"Sizes, types and ranges", with_line_end(lang::to_string(front->specialised))},
      {"Options", with_line_end(to_json(options))},
      {"Statements", texts[Stage::Scop], true},
      {"Fusion", texts[Stage::Fusion]},
      {"Schedule", texts[Stage::Schedule], true},
      {"Kernels", describe(*selected)},
      {"Tile program", texts[Stage::Tile], true},
      {gpu ? "CUDA" : "Kernel code", with_line_end(code), true},
  };
  return report;
}

std::string to_text(const Report& report) {
  std::string text = fmt::format("# {}\n", report.title);
  for (const auto& section : report.sections)
    text += fmt::format("\n## {}\n{}", section.title, section.text);
  return text;
}

std::string to_html(const Report& report) {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{0}</title>\n"
      "<style>body{{font-family:sans-serif;max-width:70em;margin:2em auto;padding:0 1em}}"
      "pre{{background:#f6f6f6;padding:1em;overflow-x:auto}}summary{{cursor:pointer}}</style>\n"
      "</head>\n<body>\n<h1>{0}</h1>\n",
      escaped(report.title));
  for (const auto& section : report.sections) {
    const std::string body = fmt::format("<pre>{}</pre>\n", escaped(section.text));
    html += fmt::format("<h2>{}</h2>\n", escaped(section.title));
    html += section.is_long ? "<details><summary>show</summary>\n" + body + "</details>\n" : body;
  }
  return html + "</body>\n</html>\n";
}

}  // namespace tc::compiler

// SPDX-License-Identifier: Apache-2.0
#include "bench/svg.h"

#include <fmt/format.h>

namespace dhpvm::tools {

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

Svg::Svg(double width, double height, std::string_view title) {
  text_ = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" aria-label=\"{2}\">\n",
      width, height, escaped(title));
}

// Closes the element, with a tooltip if `hint` is not empty.
void Svg::close(std::string_view element, std::string_view hint) {
  text_ += hint.empty() ? "/>\n" : fmt::format("><title>{}</title></{}>\n", escaped(hint), element);
}

void Svg::rectangle(double x, double y, double width, double height, std::string_view style,
                    std::string_view hint) {
  text_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"{}\"", x,
                       y, width, height, style);
  close("rect", hint);
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view style) {
  text_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1,
                       y1, x2, y2, style);
}

void Svg::circle(double x, double y, double radius, std::string_view style, std::string_view hint) {
  text_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" class=\"{}\"", x, y, radius, style);
  close("circle", hint);
}

void Svg::text(double x, double y, std::string_view text, Anchor anchor, std::string_view style) {
  constexpr const char* kAnchors[] = {"start", "middle", "end"};
  text_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n", x, y,
                       kAnchors[static_cast<unsigned>(anchor)], style, escaped(text));
}

void Svg::path(const std::string& data, std::string_view style) {
  text_ += fmt::format("<path d=\"{}\" class=\"{}\"/>\n", data, style);
}

std::string Svg::finish() && { return std::move(text_) + "</svg>\n"; }

}  // namespace dhpvm::tools

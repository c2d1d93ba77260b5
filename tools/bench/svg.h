// SPDX-License-Identifier: Apache-2.0
// The part of SVG that the plots need.
#pragma once

#include <string>
#include <string_view>

namespace dhpvm::tools {

// Text that is escaped for HTML and SVG.
std::string escaped(std::string_view text);

// A picture of fixed size, drawn from back to front. Colours are classes of the page's style sheet.
class Svg {
 public:
  enum class Anchor : unsigned char { kStart, kMiddle, kEnd };

  // `title`: for screen readers.
  Svg(double width, double height, std::string_view title);

  void rectangle(double x, double y, double width, double height, std::string_view style,
                 std::string_view hint = {});
  void line(double x1, double y1, double x2, double y2, std::string_view style);
  void circle(double x, double y, double radius, std::string_view style, std::string_view hint = {});
  void text(double x, double y, std::string_view text, Anchor anchor = Anchor::kStart,
            std::string_view style = {});
  // `data` is the path's, as SVG has it.
  void path(const std::string& data, std::string_view style);

  std::string finish() &&;

 private:
  void close(std::string_view element, std::string_view hint);

  std::string text_;
};

}  // namespace dhpvm::tools

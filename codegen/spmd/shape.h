// SPDX-License-Identifier: Apache-2.0
// The shape of a value: how it differs across the lanes.
#pragma once

#include <cstdint>

namespace dhpvm::codegen::spmd {

// A lattice of three levels: unknown (not yet visited), affine with one stride, varying. Uniform is affine with stride
// 0. Lane l of an affine value is base + l * stride, modulo two to the width of its type; for pointers the stride is in
// bytes.
class Shape {
 public:
  constexpr Shape() = default;
  static constexpr Shape uniform() { return Shape(Kind::kAffine, 0); }
  static constexpr Shape affine(std::int64_t stride) { return Shape(Kind::kAffine, stride); }
  static constexpr Shape varying() { return Shape(Kind::kVarying, 0); }

  constexpr bool is_known() const { return kind_ != Kind::kUnknown; }
  constexpr bool is_uniform() const { return kind_ == Kind::kAffine && stride_ == 0; }
  constexpr bool is_affine() const { return kind_ == Kind::kAffine; }  // uniform included
  constexpr bool is_varying() const { return kind_ == Kind::kVarying; }
  constexpr std::int64_t stride() const { return stride_; }

  // The least upper bound of both shapes.
  constexpr Shape join(Shape other) const {
    if (!is_known() || *this == other) return other;
    return other.is_known() ? varying() : *this;
  }

  constexpr bool operator==(const Shape&) const = default;

 private:
  enum class Kind : std::uint8_t { kUnknown, kAffine, kVarying };
  constexpr Shape(Kind kind, std::int64_t stride) : kind_(kind), stride_(stride) {}

  Kind kind_ = Kind::kUnknown;
  std::int64_t stride_ = 0;
};

}  // namespace dhpvm::codegen::spmd

// SPDX-License-Identifier: Apache-2.0
#include "vm/native.h"

#include <gtest/gtest.h>

#include <string>

#include "bytecode/builder.h"

namespace dhpvm::vm {
namespace {

using bytecode::Kind;
using bytecode::ValueType;

Status nothing(NativeCall&) { return {}; }

std::string normalised(std::string_view signature) {
  NativeRegistry registry;
  const Status status = registry.define("f", signature, nothing);
  return status.ok() ? registry.find("f")->signature : "refused";
}

TEST(NativeRegistry, NormalisesSignatures) {
  EXPECT_EQ(normalised("()"), "()");
  EXPECT_EQ(normalised("( str ,i64 )->[u8]"), "(str, i64) -> [u8]");
  EXPECT_EQ(normalised("([f32,2], resource) -> ()"), "([f32, 2], resource)");
  EXPECT_EQ(normalised("() -> (f64)"), "() -> f64");
  EXPECT_EQ(normalised("() -> (f64, str)"), "() -> (f64, str)");
  EXPECT_EQ(normalised("([[str]], [i64, 1]) -> bool"), "([[str]], [i64]) -> bool");
}

TEST(NativeRegistry, RefusesWhatItCannotRead) {
  for (const char* bad : {"", "(", "(i64", "i64", "(i65)", "(i64,)", "([u8)", "([u8, 4])", "() ->", "() -> x",
                          "() i64", "(i64?)", "(class \"Node\")", "([[[[[[[[[u8]]]]]]]]])"}) {
    EXPECT_EQ(normalised(bad), "refused") << bad;
  }
}

TEST(NativeRegistry, RemembersWhichParametersMayBeNull) {
  NativeRegistry registry;
  ASSERT_TRUE(registry.define("f", "(str?, i64, [u8], resource?) -> str?", nothing).ok());
  EXPECT_EQ(registry.find("f")->signature, "(str, i64, [u8], resource) -> str");
  EXPECT_EQ(registry.find("f")->nullable, (std::vector<bool>{true, false, true}));
}

TEST(NativeRegistry, TheLastDefinitionCounts) {
  NativeRegistry registry;
  ASSERT_TRUE(registry.define("f", "()", nothing).ok());
  ASSERT_TRUE(registry.define("f", "(i64)", nothing).ok());
  EXPECT_EQ(registry.find("f")->signature, "(i64)");
  EXPECT_EQ(registry.find("g"), nullptr);
}

// A class may have any name: it must never pass for a built-in type.
TEST(SignatureText, DoesNotConfuseClassesWithBuiltInTypes) {
  bytecode::ModuleBuilder builder;
  const ValueType impostor{Kind::kRef, builder.declare_class("str")};
  const ValueType endless{Kind::kRef, builder.array_type({Kind::kU8})};
  bytecode::Module module = std::move(builder).finish();
  module.types[endless.type].element = endless;

  const auto text_of = [&](ValueType parameter) {
    return signature_text(module, {.parameters = {parameter}, .results = {{Kind::kF32}}});
  };
  EXPECT_EQ(text_of({Kind::kRef, bytecode::kStringType}), "(str) -> f32");
  EXPECT_EQ(text_of(impostor), "(class \"str\") -> f32");
  EXPECT_EQ(normalised(text_of(endless)), "refused");
}

}  // namespace
}  // namespace dhpvm::vm

// SPDX-License-Identifier: Apache-2.0
// Names of documents: conversion between `file:` URIs and paths.
#pragma once

#include <string>
#include <string_view>

namespace dhpvm::compiler::lsp {

// The path of a `file:` URI; any other URI unchanged, so that unsaved documents have a name too.
std::string path_of(std::string_view uri);
// The URI of a path; anything but an absolute path is returned unchanged.
std::string uri_of(std::string_view path);

}  // namespace dhpvm::compiler::lsp

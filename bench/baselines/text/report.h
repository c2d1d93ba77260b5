// SPDX-License-Identifier: Apache-2.0
// Common to the C++ twins of bench/programs/text: report.dhp in C++, and splitting as a programmer writes it.
#pragma once

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace report {

// Calls part(text) for what stands between the separators.
template <typename Part>
void split(const std::string& text, char separator, Part&& part) {
  std::size_t from = 0;
  for (std::size_t at; (at = text.find(separator, from)) != std::string::npos; from = at + 1)
    part(text.substr(from, at - from));
  part(text.substr(from));
}

inline std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  split(text, separator, [&](std::string part) { parts.push_back(std::move(part)); });
  return parts;
}

template <typename Work>
int repeat(int argc, char** argv, Work&& work) {
  if (argc < 2) return 2;
  std::ifstream file(argv[1]);
  std::stringstream content;
  content << file.rdbuf();
  const std::string text = content.str();
  for (std::string turn; std::getline(std::cin, turn);) {
    const auto start = std::chrono::steady_clock::now();
    std::istringstream lines(text);
    work(lines);
    const std::chrono::nanoseconds time = std::chrono::steady_clock::now() - start;
    std::printf("time_ns %lld\n", static_cast<long long>(time.count()));
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace report

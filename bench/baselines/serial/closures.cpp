// SPDX-License-Identifier: Apache-2.0
// Closures: map, filter, fold and composition of functions that capture variables. A value of type fn(i64) ->
// i64 is a std::function: both hide which function is called, and both can be stored and returned. Templates
// would make a copy of map for each lambda, and could not be composed at run time.
#include <cinttypes>
#include <cstdio>
#include <functional>
#include <numeric>
#include <utility>

#include "../measure.h"

namespace {

using Numbers = std::vector<std::int64_t>;
using Function = std::function<std::int64_t(std::int64_t)>;

Numbers map(const Numbers& xs, const Function& f) {
  Numbers out(xs.size());
  for (std::size_t i = 0; i < xs.size(); ++i) out[i] = f(xs[i]);
  return out;
}

Numbers filter(const Numbers& xs, const std::function<bool(std::int64_t)>& keep) {
  Numbers out(xs.size());
  std::size_t n = 0;
  for (const std::int64_t x : xs) {
    if (keep(x)) out[n++] = x;
  }
  out.resize(n);
  return out;
}

std::int64_t fold(const Numbers& xs, std::int64_t start,
                  const std::function<std::int64_t(std::int64_t, std::int64_t)>& f) {
  std::int64_t result = start;
  for (const std::int64_t x : xs) result = f(result, x);
  return result;
}

Function compose(Function f, Function g) {
  return [f = std::move(f), g = std::move(g)](std::int64_t x) { return g(f(x)); };
}

Function times_plus(std::int64_t a, std::int64_t b) {
  return [a, b](std::int64_t x) { return a * x + b; };
}

Function remainder(std::int64_t m) {
  return [m](std::int64_t x) { return x % m; };
}

// Numbers its calls: a variable that outlives the function it belongs to.
Function counter(std::int64_t step) {
  return [step, calls = std::int64_t{0}](std::int64_t x) mutable {
    calls += step;
    return x + calls;
  };
}

void pipeline(std::int64_t rounds) {
  Numbers xs(1000);
  std::iota(xs.begin(), xs.end(), 0);
  std::int64_t total = 0;
  for (std::int64_t round = 0; round < rounds; ++round) {
    const Function chain = compose(compose(times_plus(3, round), remainder(1009)),
                                   compose(counter(round % 5), times_plus(7, 1)));
    const std::int64_t limit = 500 + round % 1000;
    const Numbers kept = filter(map(xs, chain), [limit](std::int64_t x) { return x % 1024 < limit; });
    total = (total + fold(kept, 1,
                          [limit](std::int64_t sum, std::int64_t x) {
                            return (sum * 31 + x + limit) % 1000000007;
                          })) %
            1000000007;
  }
  std::printf("%" PRId64 "\n", total);
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 5'000);
  while (run.next()) {
    pipeline(run.size());
    run.done();
  }
}

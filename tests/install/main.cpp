// SPDX-License-Identifier: Apache-2.0
// A host application that is built against an installed DHPVM.
#include <dhpvm/result.h>
#include <dhpvm/version.h>

#include <cstdio>

int main() {
  const dhpvm::Result<int> answer = 42;
  std::printf("the answer is %d, says DHPVM %s\n", answer.value(), DHPVM_VERSION);
  return 0;
}

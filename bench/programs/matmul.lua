-- SPDX-License-Identifier: Apache-2.0
local function matrix(n, seed)
  local m = {}
  for i = 0, n - 1 do
    local row = {}
    for j = 0, n - 1 do row[j + 1] = seed * (i - j) * (i + j) end
    m[i + 1] = row
  end
  return m
end

local function multiply(a, b, n)
  local c = {}
  for i = 1, n do
    local ai, ci = a[i], {}
    for j = 1, n do
      local sum = 0.0
      for k = 1, n do sum = sum + ai[k] * b[k][j] end
      ci[j] = sum
    end
    c[i] = ci
  end
  return c
end

local n = tonumber(arg[1] or 240)
local seed = 1.0 / n / n
local c = multiply(matrix(n, seed), matrix(n, seed), n)
print(string.format("%.9f", c[n // 2 + 1][n // 2 + 1]))

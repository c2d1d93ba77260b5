-- SPDX-License-Identifier: Apache-2.0
local function a(i, j)
  local ij = i + j
  return 1.0 / (ij * (ij + 1) // 2 + i + 1)
end

local function times(v, out)
  local n = #v
  for i = 0, n - 1 do
    local sum = 0.0
    for j = 0, n - 1 do sum = sum + a(i, j) * v[j + 1] end
    out[i + 1] = sum
  end
end

local function times_transposed(v, out)
  local n = #v
  for i = 0, n - 1 do
    local sum = 0.0
    for j = 0, n - 1 do sum = sum + a(j, i) * v[j + 1] end
    out[i + 1] = sum
  end
end

local n = tonumber(arg[1] or 300)
local u, v, t = {}, {}, {}
for i = 1, n do u[i], v[i], t[i] = 1.0, 0.0, 0.0 end
for i = 1, 10 do
  times(u, t)
  times_transposed(t, v)
  times(v, t)
  times_transposed(t, u)
end
local vbv, vv = 0.0, 0.0
for i = 1, n do
  vbv = vbv + u[i] * v[i]
  vv = vv + v[i] * v[i]
end
print(string.format("%.9f", math.sqrt(vbv / vv)))

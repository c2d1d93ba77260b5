-- SPDX-License-Identifier: Apache-2.0
local n = tonumber(arg[1] or 2000000)
local counts, size = {}, 0
local x = 42
for i = 0, n - 1 do
  x = (x * 1103515245 + 12345) % 2147483648
  local key = x % 50021 * 65537
  local old = counts[key]
  if old == nil then
    size = size + 1
    old = 0
  end
  counts[key] = old + 1
end
local most = 0
for key, value in pairs(counts) do if value > most then most = value end end
print(size)
print(most)

local words = {}
for i = 0, n // 2 - 1 do
  local word = "w" .. tostring(i % 5003)
  words[word] = (words[word] or 0) + i
end
print(words["w77"] or 0)

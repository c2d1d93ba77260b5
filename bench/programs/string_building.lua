-- SPDX-License-Identifier: Apache-2.0
local n = tonumber(arg[1] or 400000)
local parts = {}
for i = 0, n - 1 do
  local word = "item" .. tostring(i)
  parts[i + 1] = word .. ";"
end
local text = table.concat(parts, " ")
local count = 0
local at = string.find(text, "9;", 1, true)
while at do
  count = count + 1
  at = string.find(text, "9;", at + 1, true)
end
print(#text)
print(count)
print(string.sub(string.upper(text), 1, 20))

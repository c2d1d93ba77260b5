-- SPDX-License-Identifier: Apache-2.0
local function check(node)
  return 1 + (node.left and check(node.left) or 0) + (node.right and check(node.right) or 0)
end

local function tree(depth)
  if depth == 0 then return {} end
  return { left = tree(depth - 1), right = tree(depth - 1) }
end

local depth = tonumber(arg[1] or 14)
print("stretch tree of depth " .. depth + 1 .. "\t check: " .. check(tree(depth + 1)))
local long_lived = tree(depth)
for d = 4, depth, 2 do
  local count = 1 << (depth - d + 4)
  local sum = 0
  for i = 1, count do sum = sum + check(tree(d)) end
  print(count .. "\t trees of depth " .. d .. "\t check: " .. sum)
end
print("long lived tree of depth " .. depth .. "\t check: " .. check(long_lived))

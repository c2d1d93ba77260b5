-- SPDX-License-Identifier: Apache-2.0
local function fannkuch(n)
  local p, q, s = {}, {}, {}
  for i = 1, n do
    p[i] = i - 1
    q[i] = 0
    s[i] = i - 1
  end
  local sign, max_flips, sum = 1, 0, 0
  while true do
    local q0 = p[1]
    if q0 ~= 0 then
      for i = 2, n do q[i] = p[i] end
      local flips = 1
      while true do
        local qq = q[q0 + 1]
        if qq == 0 then
          sum = sum + sign * flips
          if flips > max_flips then max_flips = flips end
          break
        end
        q[q0 + 1] = q0
        if q0 >= 3 then
          local i, j = 2, q0
          while i < j do
            local t = q[i]
            q[i] = q[j]
            q[j] = t
            i = i + 1
            j = j - 1
          end
        end
        q0 = qq
        flips = flips + 1
      end
    end
    if sign == 1 then
      local t = p[1]
      p[1] = p[2]
      p[2] = t
      sign = -1
    else
      local t = p[2]
      p[2] = p[3]
      p[3] = t
      sign = 1
      for i = 3, n do
        local sx = s[i]
        if sx ~= 0 then
          s[i] = sx - 1
          break
        end
        if i == n then
          print(sum)
          print("Pfannkuchen(" .. n .. ") = " .. max_flips)
          return
        end
        s[i] = i - 1
        local first = p[1]
        for k = 1, i do p[k] = p[k + 1] end
        p[i + 1] = first
      end
    end
  end
end
fannkuch(tonumber(arg[1] or 9))

-- SPDX-License-Identifier: Apache-2.0
local sqrt = math.sqrt
local pi = math.pi
local solar_mass = 4 * pi * pi
local year = 365.24

local function Body(x, y, z, vx, vy, vz, mass)
  return { x = x, y = y, z = z, vx = vx, vy = vy, vz = vz, mass = mass }
end
local bodies = {
  Body(0, 0, 0, 0, 0, 0, solar_mass),
  Body(4.84143144246472090, -1.16032004402742839, -0.103622044471123109, 0.00166007664274403694 * year,
    0.00769901118419740425 * year, -0.0000690460016972063023 * year, 0.000954791938424326609 * solar_mass),
  Body(8.34336671824457987, 4.12479856412430479, -0.403523417114321381, -0.00276742510726411 * year,
    0.00499852801234917238 * year, 0.0000230417297573763929 * year, 0.000285885980666130812 * solar_mass),
  Body(12.8943695621391310, -15.1111514016986312, -0.223307578892655734, 0.00296460137564761618 * year,
    0.00237847173959480950 * year, -0.0000296589568540237556 * year, 0.0000436624404335156298 * solar_mass),
  Body(15.3796971148509165, -25.9193146099879641, 0.179258772950371181, 0.00268067772490389322 * year,
    0.00162824170038242295 * year, -0.0000951592254519715870 * year, 0.0000515138902046611451 * solar_mass),
}

local function energy(bodies)
  local e = 0.0
  for i = 1, #bodies do
    local b = bodies[i]
    e = e + 0.5 * b.mass * (b.vx * b.vx + b.vy * b.vy + b.vz * b.vz)
    for j = i + 1, #bodies do
      local c = bodies[j]
      local dx, dy, dz = b.x - c.x, b.y - c.y, b.z - c.z
      e = e - b.mass * c.mass / sqrt(dx * dx + dy * dy + dz * dz)
    end
  end
  return e
end

local function advance(bodies, dt)
  local n = #bodies
  for i = 1, n do
    local b = bodies[i]
    for j = i + 1, n do
      local c = bodies[j]
      local dx = b.x - c.x
      local dy = b.y - c.y
      local dz = b.z - c.z
      local d2 = dx * dx + dy * dy + dz * dz
      local mag = dt / (d2 * sqrt(d2))
      b.vx = b.vx - dx * c.mass * mag
      b.vy = b.vy - dy * c.mass * mag
      b.vz = b.vz - dz * c.mass * mag
      c.vx = c.vx + dx * b.mass * mag
      c.vy = c.vy + dy * b.mass * mag
      c.vz = c.vz + dz * b.mass * mag
    end
  end
  for i = 1, n do
    local b = bodies[i]
    b.x = b.x + dt * b.vx
    b.y = b.y + dt * b.vy
    b.z = b.z + dt * b.vz
  end
end

local n = tonumber(arg[1] or 200000)
local px, py, pz = 0.0, 0.0, 0.0
for _, b in ipairs(bodies) do
  px = px + b.vx * b.mass
  py = py + b.vy * b.mass
  pz = pz + b.vz * b.mass
end
bodies[1].vx = -px / solar_mass
bodies[1].vy = -py / solar_mass
bodies[1].vz = -pz / solar_mass
print(string.format("%.9f", energy(bodies)))
for i = 1, n do advance(bodies, 0.01) end
print(string.format("%.9f", energy(bodies)))

-- What wrk sends, chosen by the argument behind the URL; without one it asks for the URL over and over.
--   cycle PATH COUNT   GET of PATH with %d in it replaced by a number from 1 to COUNT, each thread from another one on
--   form PREFIX TAG    POST of a form with 4 KiB into the folder PREFIX, each time under a new name that begins with TAG
--   request METHOD BODY   another method than GET, with the headers of the command line
--   put TAG            PUT of 4 KiB below the URL, each time under such a name
-- Before these, `statuses` has it count the answers by their status, which takes wrk so long that no figure counts.
local threads = 0
local sent = 0
local all = {}
local content = string.rep('0123456789abcdef', 256)
local boundary = 'holdall-bench-boundary'

function setup(thread)
  thread:set('number', threads)
  threads = threads + 1
  all[threads] = thread
end

local function newName(tag)
  sent = sent + 1
  -- Other names than those that the load before it has taken.
  return string.format('%s%s-%d-%d.bin', statuses and 'again-' or '', tag, number, sent)
end

local function part(parameters, body)
  return '--' .. boundary .. '\r\nContent-Disposition: form-data; ' .. parameters .. '\r\n\r\n' .. body .. '\r\n'
end

local kinds = {
  cycle = function(path, count)
    return function()
      sent = sent + 1
      -- Two threads, and an even count: they meet nowhere.
      return wrk.format('GET', string.format(path, (sent + number * count / 2) % count + 1))
    end
  end,
  form = function(prefix, tag)
    local before = part('name="prefix"', prefix)
    local headers = { ['Content-Type'] = 'multipart/form-data; boundary=' .. boundary }
    return function()
      local file = part('name="file"; filename="' .. newName(tag) .. '"', content)
      return wrk.format('POST', wrk.path, headers, before .. file .. '--' .. boundary .. '--\r\n')
    end
  end,
  request = function(method, body)
    local whole = wrk.format(method, wrk.path, wrk.headers, body)
    return function() return whole end
  end,
  put = function(tag)
    return function() return wrk.format('PUT', wrk.path .. newName(tag), {}, content) end
  end,
}

-- Where there is a `response`, wrk takes each answer apart for it.
local function countStatuses()
  statuses = {}
  function response(status) statuses[status] = (statuses[status] or 0) + 1 end
end

function init(arguments)
  if arguments[1] == 'statuses' then
    table.remove(arguments, 1)
    countStatuses()
  end
  local kind = kinds[arguments[1]]
  -- Where there is no `request`, wrk makes the one request beforehand, as it does without a script.
  if kind then request = kind(arguments[2], arguments[3]) end
end

-- wrk prints figures rounded for people; this gives them whole, as one line of JSON.
function done(summary, latency)
  io.write(string.format(
    'summary {"microseconds":%d,"requests":%d,"bytes":%.0f,"p50":%d,"p99":%d,' ..
    '"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d}\n',
    summary.duration, summary.requests, summary.bytes, latency:percentile(50), latency:percentile(99),
    summary.errors.connect, summary.errors.read, summary.errors.write, summary.errors.status, summary.errors.timeout))
  for _, thread in ipairs(all) do
    for status, count in pairs(thread:get('statuses') or {}) do
      io.write(string.format('status %d %d\n', status, count))
    end
  end
end

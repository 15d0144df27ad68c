-- wrk prints figures rounded for people; this gives them whole, as one line of JSON.
function done(summary, latency)
  io.write(string.format(
    'summary {"microseconds":%d,"requests":%d,"bytes":%.0f,"p50":%d,"p99":%d,' ..
    '"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d}\n',
    summary.duration, summary.requests, summary.bytes, latency:percentile(50), latency:percentile(99),
    summary.errors.connect, summary.errors.read, summary.errors.write, summary.errors.status, summary.errors.timeout))
end

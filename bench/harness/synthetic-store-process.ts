import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { contentOf, createObjects, keyOf, type Objects } from './synthetic-objects.ts';
import { createLimiter } from './synthetic-rates.ts';
import {
  failure,
  operationOf,
  responseTo,
  type SyntheticRequest,
  type SyntheticResponse,
  weightOf,
} from './synthetic-s3.ts';
import type { Family, SyntheticSettings } from './synthetic-store.ts';

/*
 * The process of a synthetic store. Its only argument is its settings. `/-/calls` returns the requests since the last call,
 * and `/-/check` whether a prefix has the expected objects.
 */
const settings = JSON.parse(process.argv[2] ?? '') as SyntheticSettings;
const objects = createObjects(settings.families);
const isTaken = createLimiter(settings);
let calls: Record<string, number> = {};

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  respond(request, response).catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    response.destroy();
  });
});
server.listen(settings.port, '127.0.0.1');
process.once('SIGTERM', () => process.exit(0));

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const requested = await read(request);
  if (requested.url.pathname.startsWith('/-/')) return send(response, control(requested));
  const arrived = performance.now();
  const reply = serve(requested);
  await sleep(Math.max(0, settings.latency - (performance.now() - arrived)));
  send(response, reply);
}

async function read(request: IncomingMessage): Promise<SyntheticRequest> {
  const url = new URL(request.url ?? '/', 'http://store');
  const [, bucket = '', ...rest] = url.pathname.split('/');
  return {
    method: request.method ?? 'GET',
    url,
    bucket,
    key: decodeURIComponent(rest.join('/')),
    headers: request.headers,
    body: await buffer(request),
  };
}

function serve(requested: SyntheticRequest): SyntheticResponse {
  const operation = operationOf(requested);
  if (operation === undefined) return failure(501, 'NotImplemented');
  calls[operation] = (calls[operation] ?? 0) + 1;
  const { kind, prefix, count } = weightOf(operation, requested);
  if (!isTaken(kind, prefix, count)) {
    calls.SlowDown = (calls.SlowDown ?? 0) + 1;
    return failure(503, 'SlowDown');
  }
  return requested.bucket === settings.bucket
    ? responseTo(operation, requested, objects)
    : failure(404, 'NoSuchBucket');
}

function send(response: ServerResponse, { status, headers, body = '' }: SyntheticResponse): void {
  response.writeHead(status, {
    'x-amz-request-id': 'synthetic',
    'content-length': Buffer.byteLength(body),
    ...headers,
  });
  response.end(body);
}

function control({ url }: SyntheticRequest): SyntheticResponse {
  if (url.pathname === '/-/calls') {
    const body = JSON.stringify(calls);
    calls = {};
    return { status: 200, body };
  }
  const family = url.searchParams.get('family');
  const problem = findDifference(
    objects,
    url.searchParams.get('prefix') ?? '',
    family === null ? undefined : (JSON.parse(family) as Family),
  );
  return problem === undefined ? { status: 200 } : { status: 409, body: problem };
}

/** Returns the first difference from the expected objects below a prefix: exactly those of a family, or none. */
function findDifference(present: Objects, prefix: string, family?: Family): string | undefined {
  let key = present.next(prefix, prefix, true);
  for (let number = 0; family && number < family.count; number++) {
    const expected = prefix + keyOf(family, number).slice(family.prefix.length);
    if (key !== expected) return `${key} is where ${expected} should be`;
    if (String(present.get(key)?.content) !== contentOf(family, number)) return `${key} holds something else`;
    key = present.next(prefix, key, false);
  }
  return key === undefined ? undefined : `${key} should not be there`;
}

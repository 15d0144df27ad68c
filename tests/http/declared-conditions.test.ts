import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { disk, memory } from '../contract/backend.ts';
import { type ApiDocument, readDocument } from '../fuzz/document.ts';
import { type Call, jsonOf, send, upload } from './client.ts';
import { startService } from './service.ts';
import { FUTURE, ON_FILE, ON_FOLDER, PAST, prepareReads, resetFile } from './stores/conditions.ts';

/** A request to an operation of the HTTP API. */
type Request = readonly [path: string, call: Call];

/** How to prepare a request, and its path and method, if they are known before. */
interface Prepared {
  readonly known?: readonly [path: string, method: string];
  readonly prepare: () => Promise<Request>;
}

/** Values with which each condition fails for every file, and a range. */
const FAILING: Readonly<Record<string, string>> = {
  'If-Match': '"x"',
  'If-None-Match': '*',
  'If-Modified-Since': FUTURE,
  'If-Unmodified-Since': PAST,
  Range: 'bytes=0-0',
};

/** Statuses that tell that a condition failed, or that a range was sent. */
const EVALUATED: readonly number[] = [206, 304, 412];

/** Prepares requests that change files, but evaluate no conditions. */
const OTHER_CHANGES: readonly ((port: number) => Promise<Request>)[] = [
  async (port) => [`/-/trash/${await trashedId(port)}/restore`, post({})],
  async (port) => [`/-/trash/${await trashedId(port)}`, { method: 'DELETE' }],
  async (port) => [`/-/trash?folder=${(await trashedId(port)) && 'a/'}`, { method: 'DELETE' }],
  async (port) => ['/-/undo', post({ change: jsonOf(await upload(port, 'a/f.txt', 'new'))['change'] })],
  async (port) => [await begunUpload(port), { method: 'PATCH', headers: PART, body: 'new' }],
  async (port) => [await begunUpload(port), { method: 'DELETE', headers: { 'tus-resumable': '1.0.0' } }],
];

const PART = {
  'tus-resumable': '1.0.0',
  'upload-offset': '0',
  'content-type': 'application/offset+octet-stream',
};

const post = (body: object): Call => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

/** Deletes the file `a/f.txt`, and returns its ID in the trash. */
async function trashedId(port: number): Promise<string> {
  await resetFile(port);
  await send(port, '/file/a/f.txt', { method: 'DELETE' });
  const { entries } = jsonOf(await send(port, '/-/trash?folder=a/')) as { entries: { id: string }[] };
  return entries[0]?.id ?? assert.fail('The trash is empty.');
}

/** Begins an upload of 3 bytes by tus, and returns its path. */
async function begunUpload(port: number): Promise<string> {
  const headers = {
    'tus-resumable': '1.0.0',
    'upload-length': '3',
    'upload-metadata': `path ${Buffer.from('b/new').toString('base64')}`,
  };
  const begun = await send(port, '/-/uploads', { method: 'POST', headers });
  return new URL(String(begun.headers.location), 'http://x').pathname;
}

describe('The OpenAPI document declares exactly the headers for conditions and ranges that are evaluated', () => {
  it('by each operation', async (t) => {
    const { port, stop } = await startService(memory, { hasJobs: true });
    t.after(stop);
    const changes = [...ON_FILE, ...ON_FOLDER].map(([what, path, callOf]): Prepared => {
      const { method = 'GET' } = callOf({ etag: '"x"', version: 'x' }) ?? {};
      return {
        known: [path, method],
        prepare: async () => [path, callOf(await resetFile(port)) ?? assert.fail(what)],
      };
    });
    const others = OTHER_CHANGES.map((prepare): Prepared => ({ prepare: () => prepare(port) }));
    const document = await readDocument(port);
    const evaluated = await evaluatedBy(port, document, [...changes, ...others]);
    const reads = await prepareReads(port, await resetFile(port));
    const readers = reads.map((request): Prepared => ({ prepare: async () => request }));
    const all = new Map([...evaluated, ...(await evaluatedBy(port, document, readers))]);
    for (const [operation, declared] of declaredIn(document)) {
      if (operation.includes('/-/signed/')) continue;
      assert.deepEqual(declared, sorted(all.get(operation) ?? []), operation);
    }
  });

  // Only the disk has signed URLs of the service.
  it('for a signed URL', async (t) => {
    const { port, stop } = await startService(disk);
    t.after(stop);
    await upload(port, 'large.bin', Buffer.alloc(6 * 1024 * 1024));
    const { location } = (await send(port, '/file/large.bin')).headers;
    const { pathname, search } = new URL(String(location), 'http://x/file/');
    const document = await readDocument(port);
    const methods = ['GET', 'HEAD'] as const;
    const reads = methods.map((method): Prepared => ({ prepare: async () => [pathname + search, { method }] }));
    const declared = new Map(declaredIn(document));
    const evaluated = await evaluatedBy(port, document, reads);
    assert.equal(evaluated.size, methods.length);
    for (const [operation, headers] of evaluated) assert.deepEqual(declared.get(operation), sorted(headers), operation);
  });
});

/** Returns the headers that each operation of the HTTP API evaluates, by its first request. Prepares it again after a change. */
async function evaluatedBy(
  port: number,
  { pathOf }: Pick<ApiDocument, 'pathOf'>,
  prepared: readonly Prepared[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const evaluated = new Map<string, Set<string>>();
  const operationOf = (target: string, method: string) => `${method.toLowerCase()} ${pathOf(target)}`;
  // WebDAV and share links have no path in the document.
  const isNew = (target: string, method: string) =>
    pathOf(target) !== undefined && !evaluated.has(operationOf(target, method));
  for (const { known, prepare } of prepared) {
    if (known && !isNew(...known)) continue;
    let request: Request | undefined = await prepare();
    const [target, { method = 'GET' }] = request;
    if (!isNew(target, method)) continue;
    const operation = operationOf(target, method);
    const headers = new Set<string>();
    evaluated.set(operation, headers);
    const all = await statusOf(port, request, FAILING);
    if (!EVALUATED.includes(all)) continue;
    for (const [name, value] of Object.entries(FAILING)) {
      request ??= await prepare();
      const status = await statusOf(port, request, { [name]: value });
      if (EVALUATED.includes(status)) headers.add(name);
      else request = undefined;
    }
    const isWhole = request && headers.has('Range') && (await statusOf(port, request, IF_RANGE)) === 200;
    if (isWhole) headers.add('If-Range');
  }
  return evaluated;
}

const IF_RANGE = { range: 'bytes=0-0', 'if-range': '"x"' };

async function statusOf(port: number, [path, call]: Request, headers: Call['headers']): Promise<number> {
  const { status } = await send(port, path, { ...call, headers: { ...call.headers, ...headers } });
  assert.ok(status < 400 || status === 412, `${call.method ?? 'GET'} ${path}: ${status}`);
  return status;
}

/** Returns the headers that each operation declares. */
function declaredIn({
  paths,
}: Pick<ApiDocument, 'paths'>): readonly (readonly [operation: string, headers: string[]])[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { parameters = [] }]) => {
      const headers = parameters.filter((parameter) => parameter.in === 'header').map(({ name }) => name);
      return [`${method} ${path}`, sorted(headers)] as const;
    }),
  );
}

const sorted = (names: Iterable<string>) => [...names].toSorted();

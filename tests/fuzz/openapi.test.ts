import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import * as fc from 'fast-check';
import sharp from 'sharp';
import { createToken } from '../../src/access/credentials.ts';
import { temporaryFolder } from '../../testing/holdall.ts';
import type { HttpResponse } from '../http/client.ts';
import { tries } from '../seeds.ts';
import { applyEffect, type Effect, type Tree } from './acknowledged.ts';
import { type ApiDocument, assertCommonHeaders, readDocument } from './document.ts';
import { bytesOf, type FuzzedRequest, requestsOf } from './requests.ts';
import { startInMemory, startOnDisk, type Target } from './target.ts';
import { exchange } from './wire.ts';

/** The files at the start of each run. */
const INITIAL: Tree = {
  'a.txt': 'a',
  empty: '',
  'f/': null,
  'f/b.txt': 'b',
  'f/g/': null,
  'f/g/c é.txt': 'c',
  'fg/': null,
  'image.png': (
    await sharp({ create: { width: 9, height: 9, channels: 3, background: 'red' } })
      .png()
      .toBuffer()
  ).toString('latin1'),
  'large.bin': `${6 * 1024 * 1024} bytes`,
};

const PLACES = {
  files: Object.keys(INITIAL).filter((path) => !path.endsWith('/')),
  folders: ['f/', 'f', 'f/g/', 'fg', ''],
  missing: ['z.txt', 'new/z', 'f/new/', 'a.txt/z'],
};

/** Maximum requests per run. Later requests depend on the effects of earlier ones. */
const LONGEST = 4;

test('returns only responses of the OpenAPI document and makes only acknowledged changes', async (t) => {
  await fuzz(t, await startInMemory(t), 20);
});

test('returns only documented responses and denies anonymous access when an access file applies', async (t) => {
  const { token, hash } = createToken();
  const grants = [{ folder: '/', to: { person: 'ann' }, rights: ['read', 'write', 'manage'] }];
  const file = join(await temporaryFolder(t), 'access.json');
  await writeFile(file, JSON.stringify({ people: { ann: { tokens: [{ name: 'laptop', hash }] } }, grants }));
  const proof = { authorization: `Bearer ${token}` };
  await fuzz(t, await startOnDisk(t, { settings: { ACCESS_FILE: file }, headers: proof }), 20, proof);
});

async function fuzz(t: TestContext, target: Target, runs: number, proof: Record<string, string> = {}): Promise<void> {
  const document = await readDocument(target.port, proof);
  const seen = new Set<string>();
  const requiresAuth = Object.keys(proof).length > 0;
  const request = requestsOf(document, PLACES);
  const authenticates = fc.oneof(
    { weight: 4, arbitrary: fc.constant(true) },
    { weight: 1, arbitrary: fc.constant(false) },
  );
  const sequence = fc.array(fc.record({ request, proves: authenticates }), {
    minLength: 1,
    maxLength: LONGEST,
    size: 'max',
  });
  const sendAll = async (sent: readonly { readonly request: FuzzedRequest; readonly proves: boolean }[]) => {
    await target.restore(INITIAL);
    let tree = INITIAL;
    for (const { request: made, proves: isAuthenticated } of sent) {
      const each = isAuthenticated ? withHeaders(made, proof) : made;
      const { response, path, effect } = await sendRequest(target, document, each);
      seen.add(`${each.method.toLowerCase()} ${path}`);
      if (requiresAuth && !isAuthenticated) assertNoData(response, path);
      tree = effect ? applyEffect(tree, effect) : tree;
      assert.deepEqual(await target.tree(), tree, `The stored files after ${describe(each)}`);
    }
  };
  const options = tries(t, runs);
  await fc.assert(fc.asyncProperty(sequence, sendAll), options);
  // By chance, a short run can omit an operation.
  const untested = () => operationsOf(document).filter((operation) => !seen.has(operation));
  for (const operation of untested()) {
    const [method = '', path = ''] = operation.split(' ');
    const only = { [path]: { [method]: document.paths[path]?.[method] } } as ApiDocument['paths'];
    const sample = { seed: options.seed, numRuns: SAMPLES };
    const requests = fc.sample(requestsOf({ paths: only }, PLACES), sample);
    await sendAll(requests.map((made) => ({ request: made, proves: true })));
  }
  await target.assertHealthy();
  assert.deepEqual(untested(), [], 'Every operation is tested.');
}

/** Requests to each omitted operation. Some have another method. */
const SAMPLES = 5;

function operationsOf({ paths }: Pick<ApiDocument, 'paths'>): string[] {
  return Object.entries(paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method} ${path}`));
}

const withHeaders = (request: FuzzedRequest, headers: Record<string, string>): FuzzedRequest => {
  const given = new Set(request.headers.map(([name]) => name.toLowerCase()));
  const more = Object.entries(headers).filter(([name]) => !given.has(name));
  return { ...request, headers: [...request.headers, ...more] };
};

interface Requested {
  readonly response: HttpResponse;
  /** The requested path of the document. */
  readonly path: string | undefined;
  /** The effect of the request. */
  readonly effect: Effect | undefined;
}

/** Sends a request, checks the response against the document, and returns the effect. */
async function sendRequest({ port }: Target, document: ApiDocument, request: FuzzedRequest): Promise<Requested> {
  const responses = await exchange(port, bytesOf(request));
  assert.equal(responses.length, 1, `${responses.length} responses to ${describe(request)}`);
  const [response] = responses;
  assert.ok(response);
  try {
    assertCommonHeaders(response);
    document.assertDeclared(request.method, request.target, response);
  } catch (error) {
    throw new Error(
      `${describe(request)} returned ${response.status} ${JSON.stringify(response.headers)} ${response.body.toString().slice(0, 500)}`,
      { cause: error },
    );
  }
  const path = document.pathOf(request.target);
  const effect =
    path === undefined || ![200, 201].includes(response.status) ? undefined : effectOf(path, request, response);
  return { response, path, effect };
}

/** Asserts that the response contains no data: a failure, the methods of a path, or the service's own endpoints. */
function assertNoData({ status }: HttpResponse, path: string | undefined): void {
  assert.ok(status >= 400 || status === 204 || path?.startsWith('/-/'), `${status} of ${path} for an anonymous user`);
}

function effectOf(path: string, request: FuzzedRequest, response: HttpResponse): Effect | undefined {
  if (request.method === 'GET' || request.method === 'HEAD') return undefined;
  // The last progress line, or the only line.
  const result = JSON.parse(response.body.toString().trimEnd().split('\n').at(-1) ?? '');
  if (result.success !== true) return undefined;
  const named = decodeURIComponent(request.target.split(/[?#]/)[0] ?? '').slice(path.indexOf('{'));
  switch (path) {
    case '/upload':
      return { does: 'store', path: result.path, text: Buffer.from(request.file ?? '').toString('latin1') };
    case '/file/{path}':
      if (request.method === 'DELETE') return { does: 'remove', path: fileAt(named) };
      return { does: 'store', path: result.path, text: (request.body ?? Buffer.alloc(0)).toString('latin1') };
    case '/delete/{path}':
      return { does: 'remove', path: fileAt(named) };
    case '/delete_folder/{path}':
      return { does: 'remove', path: folderAt(named) };
    case '/create_folder':
      return { does: 'store', path: folderAt(bodyOf(request)['path']), text: null };
    case '/rename/{path}':
      assert.equal(result.newKey, siblingOf(fileAt(named), bodyOf(request)['newName']));
      return { does: 'move', path: fileAt(named), to: result.newKey };
    case '/rename_folder/{path}':
      assert.equal(result.newPrefix, `${siblingOf(folderAt(named).slice(0, -1), bodyOf(request)['newName'])}/`);
      return { does: 'move', path: folderAt(named), to: result.newPrefix };
    case '/copy':
    case '/move': {
      const { source, destination, is_folder: isFolder } = bodyOf(request);
      const at = isFolder === true ? folderAt : fileAt;
      return { does: path === '/copy' ? 'copy' : 'move', path: at(source), to: at(destination) };
    }
    default:
      return undefined;
  }
}

const bodyOf = ({ body }: FuzzedRequest): Record<string, unknown> => JSON.parse(String(body));
const fileAt = (named: unknown) => String(named).replace(/^\//, '');
const folderAt = (named: unknown) => `${fileAt(named).replace(/\/$/, '')}/`;
const siblingOf = (path: string, name: unknown) => path.slice(0, path.lastIndexOf('/') + 1) + String(name);

const describe = (request: FuzzedRequest) => JSON.stringify(bytesOf(request).toString('latin1').slice(0, 3000));

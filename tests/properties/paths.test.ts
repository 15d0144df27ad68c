import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { anyCodePoint } from '../code-points.ts';
import { type Backend, disk, memory } from '../contract/backend.ts';
import {
  assertFailure,
  assertSuccess,
  escapePath,
  type HttpResponse,
  jsonOf,
  pathsBelow,
  postForm,
  postJson,
  send,
} from '../http/client.ts';
import { served } from '../http/service.ts';
import { maxPathBytesOf, segmentsOf } from '../http/wrong-paths.ts';
import { tries } from '../seeds.ts';

const FRAGMENTS =
  '/ // . .. ./ ../ /. /.. ... % %2F %2e %25 %252F %00 %zz %22 %0D %0a \\ \\" .. ? # & + = " \' ; : * < > | ~ $ @ [ ] ^ ` { }'
    .split(' ')
    .concat([
      ' ',
      '\0',
      '\n',
      '\r',
      '\t',
      '\u001f',
      '\u007f',
      '\u0080',
      '\u0085',
      '\u00a0',
      '\u2028',
      '\ufeff',
      '\ufffd',
    ])
    .concat([
      '\u202e',
      'e\u0301',
      '\u00e9',
      '\ud800',
      '\udbff',
      '\udc00',
      '\udfff',
      '\u{10ffff}',
      '\u200b',
      '__proto__',
    ])
    .concat(['"; filename="x', '"; name="prefix', 'file', '-', 'prefix', 'COM1', 'a', 'A']);

/** One fragment of each kind: with a special meaning in a path, a URL or a form, and characters of each class. */
const REPRESENTATIVES = '/ . .. ./ % %2F %2e %00 %zz %22 \\ \\" ? # + " ; * ~ $'
  .split(' ')
  .concat([' ', '\0', '\n', '\u007f', '\u0085', '\u00a0', '\u2028', '\ufeff', '\ufffd', '\u202e'])
  .concat(['e\u0301', '\ud800', '\udc00', '\u{10ffff}', '__proto__', '"; filename="x', 'prefix']);

const SEGMENTS = [254, 255, 256].flatMap((bytes) => [
  'x'.repeat(bytes),
  `${'é'.repeat(127)}${'x'.repeat(bytes - 254)}`,
  `${'日'.repeat(84)}${'x'.repeat(bytes - 252)}`,
  `${'😀'.repeat(63)}${'x'.repeat(bytes - 252)}`,
]);

const chunk = fc.oneof(
  fc.string({ unit: anyCodePoint, minLength: 1, maxLength: 6 }),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 6 }),
  fc.constantFrom(...FRAGMENTS),
);
const segment = fc.array(chunk, { minLength: 1, maxLength: 4 }).map((chunks) => chunks.join('').replaceAll('/', ''));
const path = fc.oneof(
  { weight: 4, arbitrary: fc.array(chunk, { maxLength: 8 }).map((chunks) => chunks.join('')) },
  { weight: 6, arbitrary: fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => segments.join('/')) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constantFrom('', 'f/'), fc.constantFrom(...SEGMENTS)).map(([folder, name]) => folder + name),
  },
);

/** A service, and the maximum bytes of its paths. */
interface Place {
  readonly port: number;
  readonly limit: number;
}

const serve = (backend: Backend): (() => Place) => {
  let limit: number;
  const service = served(backend, {}, async ({ port }) => {
    limit = await maxPathBytesOf(port);
  });
  return () => ({ port: service.port, limit });
};

async function check({ port, limit }: Place, text: string): Promise<void> {
  // Paths in the service's own folder return 404.
  fc.pre(!/^\/?\.holdall(\/|$)/.test(text));
  const named = text.startsWith('/') ? text.slice(1) : text;
  if (breaksRule(named, limit)) return assertRefused(port, text);
  await roundTripOfFile(port, text, named);
  if (Buffer.byteLength(named) < limit) await roundTripOfFolder(port, text, named);
  await removeFirstSegment(port, named);
  return assert.deepEqual(await pathsBelow(port), [], 'nothing is left');
}

describe('Any text as a path, on disk', () => {
  const place = serve(disk);

  it('stays unchanged in uploads, listings, downloads and changes, or returns 400', async (t) => {
    let last = Promise.resolve();
    await fc.assert(
      fc.asyncProperty(path, (text) => (last = check(place(), text))),
      tries(t, 8),
    );
    // fast-check does not wait for the check that the timeout interrupts, whose files the next test would find.
    await unlessSkipped(() => last);
  });

  it('can have segments of 255 bytes, and as many bytes in total as the store permits', async () => {
    // The longest segments that are valid, and the shortest ones that are not.
    const segments = SEGMENTS.slice(4);
    for (const text of segments) await check(place(), text);
    // The position in the path does not depend on the characters.
    const elsewhere = segments.filter((text) => text.startsWith('x'));
    for (const text of elsewhere) await check(place(), `${text}/x`);
    for (const text of elsewhere) await check(place(), `missing folder/${text}`);
    const { limit } = place();
    const lengths = [limit - 1, limit, limit + 1].map(segmentsOf);
    for (const text of lengths) await check(place(), text);
    const isBroken = [...SEGMENTS, ...lengths].map((text) => breaksRule(text, limit));
    assert.deepEqual(isBroken, [...[254, 255, 256].flatMap((bytes) => Array(4).fill(bytes > 255)), false, false, true]);
  });
});

describe('Special characters in a path, in memory', () => {
  const place = serve(memory);

  it('stay unchanged or return 400: alone, in a name and as a folder', async () => {
    for (const fragment of REPRESENTATIVES) await unlessSkipped(() => check(place(), `${fragment}/a${fragment}b`));
  });
});

/**
 * Returns whether the API rejects the path of a file, without its leading slash: an independent implementation of the
 * rules.
 */
function breaksRule(named: string, limit: number): boolean {
  const isWrong = (name: string) =>
    name === '' || name === '.' || name === '..' || /\p{Cc}/u.test(name.replace(/[\u0080-\u009f]/g, ''));
  return (
    !named.isWellFormed() ||
    Buffer.byteLength(named) > limit ||
    named.split('/').some((name) => isWrong(name) || Buffer.byteLength(name) > 255)
  );
}

/** Asserts that every endpoint rejects the path, and that nothing is listed for it. */
async function assertRefused(port: number, text: string): Promise<void> {
  const transfers = ['/copy', '/move'].flatMap((url) => [
    () => postJson(port, url, { source: text, destination: 'y', is_folder: false }),
    () => postJson(port, url, { source: 'z', destination: text, is_folder: false }),
  ]);
  const folders = () => postJson(port, '/create_folder', { path: text });
  const escaped = text.isWellFormed() ? escapePath(text) : undefined;
  const byUrl = [
    () => put(port, text),
    () => send(port, `/file/${escaped}`),
    () => send(port, `/delete/${escaped}`, { method: 'DELETE' }),
    () => postJson(port, `/rename/${escaped}`, { newName: 'y' }),
  ];
  assert.equal((await put(port, 'z')).status, 200);
  // As the path of a folder, a path that ends with a slash can be valid.
  const calls = [...transfers, ...(text.endsWith('/') ? [] : [folders]), ...(escaped === undefined ? [] : byUrl)];
  for (const call of calls) {
    const response = await call();
    assert.equal(response.status, 400, `${call.toString()}: ${response.body.toString()}`);
    assertFailure(response, 400, /./);
  }
  assert.deepEqual(await pathsBelow(port), ['z'], 'nothing is listed that was not there');
  assert.equal((await send(port, '/delete/z', { method: 'DELETE' })).status, 200);
}

async function roundTripOfFile(port: number, text: string, named: string): Promise<void> {
  const folder = named.slice(0, named.lastIndexOf('/') + 1);
  const name = named.slice(folder.length);
  const away = name === 'r' ? 's' : 'r';
  const elsewhere = named.split('/')[0] === 'elsewhere' ? 'elsewhere else' : 'elsewhere';
  const contents = async (url: string) => (await send(port, `/file/${escapePath(url)}`)).body.toString();
  const transfer = (url: string, source: string, destination: string) =>
    postJson(port, url, { source, destination, is_folder: false });

  assertSuccess(await put(port, text), { message: 'File uploaded successfully', path: named });
  assert.deepEqual(await listedNames(port, folder), [name]);
  assert.equal(await contents(text), named);

  const renamed = await postJson(port, `/rename/${escapePath(text)}`, { newName: away });
  assertSuccess(renamed, { message: 'File renamed successfully', newKey: folder + away });
  assert.deepEqual(await listedNames(port, folder), [away]);
  const back = await postJson(port, `/rename/${escapePath(folder + away)}`, { newName: name });
  assertSuccess(back, { message: 'File renamed successfully', newKey: named });

  assertSuccess(await transfer('/copy', text, elsewhere), { message: 'Item copied successfully' });
  const deleted = { message: 'File deleted successfully' };
  assertSuccess(await send(port, `/delete/${escapePath(text)}`, { method: 'DELETE' }), deleted);
  assert.deepEqual(await listedNames(port, folder), folder === '' ? [elsewhere] : []);
  assertSuccess(await transfer('/copy', elsewhere, text), { message: 'Item copied successfully' });
  assertSuccess(await send(port, `/delete/${elsewhere.replace(' ', '%20')}`, { method: 'DELETE' }), deleted);

  assertSuccess(await transfer('/move', text, elsewhere), { message: 'Item moved successfully' });
  assertSuccess(await transfer('/move', elsewhere, text), { message: 'Item moved successfully' });
  assert.deepEqual(await listedNames(port, folder), [name]);
  assert.equal(await contents(text), named);
  assertSuccess(await send(port, `/delete/${escapePath(text)}`, { method: 'POST' }), deleted);
  assert.deepEqual(await listedNames(port, folder), []);
}

async function roundTripOfFolder(port: number, text: string, named: string): Promise<void> {
  const parent = named.slice(0, named.lastIndexOf('/') + 1);
  const name = named.slice(parent.length);
  const away = name === 'r' ? 's' : 'r';
  const elsewhere = named.split('/')[0] === 'elsewhere' ? 'elsewhere else' : 'elsewhere';
  const transfer = (url: string, source: string, destination: string) =>
    postJson(port, url, { source, destination, is_folder: true });

  assertSuccess(await postJson(port, '/create_folder', { path: text }), { message: 'Folder created successfully' });
  assert.deepEqual(await listedNames(port, parent), [`${name}/`]);
  const listing = await send(port, `/?prefix=${encodeURIComponent(text)}`);
  assert.deepEqual(jsonOf(listing), { success: true, prefix: `${named}/`, entries: [] });

  const renamed = await postJson(port, `/rename_folder/${escapePath(text)}`, { newName: away });
  assertSuccess(renamed, { message: 'Folder renamed successfully', newPrefix: `${parent}${away}/` });
  const back = await postJson(port, `/rename_folder/${escapePath(parent + away)}/`, { newName: name });
  assertSuccess(back, { message: 'Folder renamed successfully', newPrefix: `${named}/` });

  assertSuccess(await transfer('/copy', text, elsewhere), { message: 'Item copied successfully' });
  const deleted = { message: 'Folder deleted successfully' };
  assertSuccess(await send(port, `/delete_folder/${escapePath(text)}`, { method: 'DELETE' }), deleted);
  assertSuccess(await transfer('/move', elsewhere, text), { message: 'Item moved successfully' });
  assert.deepEqual(await listedNames(port, parent), [`${name}/`]);
  assertSuccess(await send(port, `/delete_folder/${escapePath(text)}/`, { method: 'POST' }), deleted);
  assert.deepEqual(await listedNames(port, parent), []);
}

/** Uploads a file whose content is its path without the leading slash. */
async function put(port: number, text: string): Promise<HttpResponse> {
  const slash = text.lastIndexOf('/') + 1;
  const name = text.slice(slash);
  const uploadAs = (filename: string) =>
    postForm(port, [
      { name: 'prefix', value: text.slice(0, slash) },
      { name: 'file', filename, value: text.startsWith('/') ? text.slice(1) : text },
    ]);
  // No server can distinguish such a name from one with the character: see docs/decisions/multipart.md.
  if (!/%(22|0d|0a)/i.test(name)) return uploadAs(name);
  const uploaded = await uploadAs('to be renamed');
  if (uploaded.status !== 200) return uploaded;
  const from = `${text.slice(0, slash)}to be renamed`;
  const renamed = await postJson(port, `/rename/${escapePath(from)}`, { newName: name });
  if (renamed.status !== 200) {
    await send(port, `/delete/${escapePath(from)}`, { method: 'DELETE' });
    await removeFirstSegment(port, from.startsWith('/') ? from.slice(1) : from);
    return renamed;
  }
  const json = jsonOf(renamed);
  const body = { success: true, message: 'File uploaded successfully', path: json['newKey'] };
  return { ...renamed, body: Buffer.from(JSON.stringify(body)) };
}

/** Removes the parent folders of a path. */
async function removeFirstSegment(port: number, named: string): Promise<void> {
  const [first = '', ...rest] = named.split('/');
  if (rest.length > 0) await send(port, `/delete_folder/${escapePath(first)}`, { method: 'DELETE' });
}

async function unlessSkipped(run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!fc.PreconditionFailure.isFailure(error)) throw error;
  }
}

/** Returns the names in a folder, whose path ends with a slash. Asserts that each entry has the matching path. */
async function listedNames(port: number, folder: string): Promise<string[]> {
  const { entries } = jsonOf(await send(port, `/?prefix=${encodeURIComponent(folder)}`)) as {
    entries: { name: string; path: string }[];
  };
  for (const { name, path: listed } of entries) assert.equal(listed.replace(/\/$/, ''), folder + name);
  return entries.map((entry) => entry.path.slice(folder.length));
}

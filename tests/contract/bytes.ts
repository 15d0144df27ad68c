import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { parseFile, parseFolder } from '../../src/model/path.ts';
import type { Entry, Store, Upload } from '../../src/model/store.ts';

/** A log of a disk that discards all events. */
export const silentLog = { warn() {}, error() {} };

export const file = parseFile;
export const folder = parseFolder;

/** Asserts that two byte sequences are equal. `deepEqual` would draw a diff of large ones, which takes gigabytes. */
export function assertSameBytes(actual: Buffer, expected: Buffer): void {
  if (actual.equals(expected)) return;
  const index = expected.findIndex((byte, at) => byte !== actual[at]);
  const offset = index === -1 ? expected.length : index;
  assert.fail(`${actual.length} bytes instead of ${expected.length}; the first difference is at offset ${offset}`);
}

/** Returns a text as an upload. */
export function upload(text: string, type = 'text/plain'): Upload {
  return { body: Readable.from([Buffer.from(text)]), type };
}

/** Returns the text of a file. */
export async function textOf(store: Pick<Store, 'read'>, path: string): Promise<string> {
  const { body } = await store.read(file(path));
  return (await buffer(body)).toString();
}

/** Returns the paths in a folder, from one or more pages of `list`. */
export async function pathsIn(store: Pick<Store, 'list'>, path: string, limit?: number): Promise<string[]> {
  const entries: Entry[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list(folder(path), { limit, cursor });
    entries.push(...page.entries);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return entries.map((entry) => entry.path);
}

/** Returns all files and folders below a folder, with the text of each file. */
export async function treeOf(store: Pick<Store, 'list' | 'read'>, path = ''): Promise<Record<string, string | null>> {
  const tree: Record<string, string | null> = {};
  for (const child of await pathsIn(store, path)) {
    if (child.endsWith('/')) Object.assign(tree, { [child]: null }, await treeOf(store, child));
    else tree[child] = await textOf(store, child);
  }
  return tree;
}

/**
 * Writes a tree in the form of `treeOf`: first the folders, then the files. In a repository, each step needs only a few
 * commits.
 */
export async function plant(
  store: Pick<Store, 'write' | 'createFolder'>,
  tree: Record<string, string | null>,
): Promise<void> {
  const paths = Object.keys(tree);
  await Promise.all(paths.filter((path) => tree[path] === null).map((path) => store.createFolder(folder(path))));
  await writeAll(store, Object.fromEntries(Object.entries(tree).filter(([, text]) => text !== null)));
}

/** Writes files with these texts at the same time. */
export async function writeAll(
  store: Pick<Store, 'write'>,
  texts: Readonly<Record<string, string | null>>,
): Promise<void> {
  await Promise.all(Object.entries(texts).map(([path, text]) => store.write(file(path), upload(text ?? ''))));
}

/** Returns the properties that `assert.rejects` requires of an error of this kind. */
export const ofKind = (kind: string) => ({ name: 'StoreError', kind });

/** Returns a path of exactly so many bytes below a folder, with names of at most 200 bytes. */
export function longPath(start: string, bytes: number): string {
  let path = start;
  while (bytes - path.length > 202) path += `/${'x'.repeat(200)}`;
  return `${path}/${'y'.repeat(bytes - path.length - 1)}`;
}

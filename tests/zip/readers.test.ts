import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import * as fc from 'fast-check';
import { createFiles } from '../../src/files/files.ts';
import { childFile, parseFolder, ROOT } from '../../src/model/path.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { archiveStream } from '../../src/zip/archive-stream.ts';
import { Checksums } from '../../src/zip/checksums.ts';
import { buildArchive } from '../../src/zip/walk.ts';
import { anyCodePoint } from '../code-points.ts';
import { NAMES } from '../contract/names.ts';
import type { Need } from '../runner/needs.ts';
import { tries } from '../seeds.ts';
import { parseArchive } from './parse-archive.ts';

export const needs: readonly Need[] = ['zip-readers'];

const run = promisify(execFile);

/** Prints the name and the size of each entry in an archive as Python reads it, after its checksums. */
const PYTHON = `
import json, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as archive:
    assert archive.testzip() is None
    print(json.dumps([[entry.filename, entry.file_size] for entry in archive.infolist()]))
`;

describe('Readers of ZIP archives', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'holdall-zip-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  /** Creates an archive of files with these names, and asserts that all readers accept it and agree. */
  const check = async (files: ReadonlyMap<string, Buffer>) => {
    const store = createMemoryStore();
    await store.createFolder(parseFolder('empty'));
    for (const [name, content] of files) {
      await store.write(childFile(ROOT, name), { body: Readable.from([content]), type: 'text/plain' });
    }
    const served = createFiles(store, { presignExpires: 60 });
    const archive = await buildArchive(served, [ROOT]);
    const { signal } = new AbortController();
    const bytes = await buffer(archiveStream(archive, { files: served, checksums: new Checksums(), signal }));
    const path = join(folder, 'archive.zip');
    await writeFile(path, bytes);
    const entries = parseArchive(bytes);
    const [, sevenZip, python] = await Promise.all([
      run('unzip', ['-tqq', path]),
      run('7z', ['t', path]),
      run('python3', ['-c', PYTHON, path]),
    ]);
    assert.doesNotMatch(sevenZip.stdout, /warning/i);
    assert.deepEqual(
      JSON.parse(python.stdout),
      entries.map(({ name, content }) => [name, content.length]),
    );
    return { path, entries };
  };

  it('extract every name to a file of its own', async () => {
    const files = new Map(NAMES.map((name) => [name, Buffer.from(`content of ${name}`)] as const));
    const { path, entries } = await check(files);
    const to = join(folder, 'extracted');
    await run('7z', ['x', '-y', `-o${to}`, path]);
    const extracted = await readdir(to);
    assert.deepEqual(extracted.toSorted(), entries.map(({ name }) => name.replace('/', '')).toSorted());
    for (const { name, content } of entries) {
      if (!name.endsWith('/')) assert.deepEqual(await readFile(join(to, name)), content);
    }
  });

  it('accept archives of any files', async (t) => {
    const name = fc
      .string({ unit: anyCodePoint, minLength: 1, maxLength: 20 })
      .filter((text) => text.isWellFormed() && !/[/\u0000-\u001f\u007f]/.test(text) && !/^\.{1,2}$/.test(text));
    const content = fc
      .tuple(fc.integer({ min: 0, max: 100_000 }), fc.nat({ max: 255 }))
      .map(([size, byte]) => Buffer.alloc(size, byte));
    const files = fc.array(fc.tuple(name, content), { maxLength: 20 }).map((entries) => new Map(entries));
    await fc.assert(
      fc.asyncProperty(files, async (tree) => void (await check(tree))),
      tries(t, 3),
    );
  });
});

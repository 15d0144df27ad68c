import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { systemErrorCode } from '../../src/model/error.ts';
import { contentOf } from './content.ts';
import type { StoredContents, TrashItem } from './run.ts';

/** Reads the folder that a disk serves, and its `.holdall`. */
export function readDisk(root: string): StoredContents {
  const trash = join(root, '.holdall/trash');
  return {
    async items() {
      const names = await readdir(trash).catch(() => []);
      const ids = names.filter((name) => !name.endsWith('.json')).toSorted();
      return (await Promise.all(ids.map((id) => readItem(trash, id)))).filter((item) => item !== undefined);
    },

    async all() {
      const folders = ['.holdall/trash', '.holdall/versions', '.holdall/recovered'].map((name) => join(root, name));
      const files = [
        ...(await filesIn(root)).filter((path) => !relative(root, path).startsWith('.holdall')),
        ...(await Promise.all(folders.map(filesIn))).flat(),
      ];
      const contents = files.filter((path) => !path.endsWith('.json')).map(readContent);
      return [...new Set(await Promise.all(contents))];
    },
  };
}

/** Returns an item of the trash; undefined if it leaves the trash meanwhile. */
async function readItem(trash: string, id: string): Promise<TrashItem | undefined> {
  try {
    const { path } = JSON.parse(await readFile(join(trash, `${id}.json`), 'utf8')) as { path: string };
    const item = join(trash, id);
    if (!path.endsWith('/')) return { id, path, files: { [path]: await readContent(item) } };
    const found = await readdir(item, { recursive: true, withFileTypes: true });
    const files = found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    const contents = files.map(async (file) => [path + relative(item, file), await readContent(file)] as const);
    return { id, path, files: Object.fromEntries(await Promise.all(contents)) };
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
    if (systemErrorCode(error) === 'ENOENT') return [];
    throw error;
  });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

async function readContent(path: string): Promise<number> {
  return contentOf(await readFile(path)) ?? assert.fail(`${path} has bytes of no content.`);
}

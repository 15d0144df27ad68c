import { hash } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Returns the paths of files in nested folders. The content of each is its path. */
export function treeOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${index % 7}/${index % 3}/file ${index}`);
}

export async function plantTree(folder: string, paths: readonly string[]): Promise<void> {
  await Promise.all([...new Set(paths.map(dirname))].map((parent) => mkdir(join(folder, parent), { recursive: true })));
  for (const path of paths) await writeFile(join(folder, path), path);
}

/** Returns whether the folder contains exactly these complete files. False for a missing folder. */
export async function isComplete(folder: string, paths: readonly string[]): Promise<boolean> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  if (entries.filter((entry) => !entry.isDirectory()).length !== paths.length) return false;
  const texts = await Promise.all(paths.map((path) => readFile(join(folder, path), 'utf8').catch(() => undefined)));
  return texts.every((text, index) => text === paths[index]);
}

/** Describes a folder with everything in it, for comparisons. */
export async function snapshot(folder: string): Promise<Record<string, string>> {
  const seen: Record<string, string> = {};
  const take = async (path: string): Promise<void> => {
    const stats = await lstat(join(folder, path), { bigint: true });
    const { ino, mode, nlink, size, mtimeNs } = stats;
    seen[path] = [ino, mode, nlink, size, mtimeNs, await contentOf(join(folder, path), stats)].join(' ');
    if (stats.isDirectory()) for (const child of await readdir(join(folder, path))) await take(join(path, child));
  };
  await take('.');
  return seen;
}

async function contentOf(path: string, stats: { isFile(): boolean; isSymbolicLink(): boolean }): Promise<string> {
  if (stats.isFile()) return hash('sha256', await readFile(path));
  return stats.isSymbolicLink() ? readlink(path) : '';
}

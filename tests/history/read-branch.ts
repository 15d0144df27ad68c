import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { parseTrailers, type TrashedEntry } from '../../src/stores/github/commits/trailers.ts';
import type { TestRepository } from '../../testing/servers/github.ts';
import { contentOf } from './content.ts';
import type { StoredContents, TrashItem } from './run.ts';

/** Reads the history of a branch. */
export function readBranch({ git, branch, folder }: TestRepository): StoredContents {
  const verified = new Map<string, number>();

  /** Returns the files below a path in a commit, by path. */
  const filesIn = async (commit: string, path: string): Promise<[path: string, size: number][]> => {
    const listed = await git('ls-tree', '-r', '-z', '--format=%(objectsize) %(path)', commit, '--', path);
    return listed
      .split('\0')
      .filter(Boolean)
      .map((line): [string, number] => [line.slice(line.indexOf(' ') + 1), Number.parseInt(line, 10)])
      .filter(([, size]) => size > 0);
  };

  const itemOf = async ({ id, path }: TrashedEntry, parent: string): Promise<TrashItem> => {
    const files = await filesIn(parent, path);
    return { id, path, files: Object.fromEntries(files) };
  };

  return {
    async items() {
      const log = await git('log', '-z', '--format=%P%n%B', branch);
      const restored = new Set<string>();
      const items: Promise<TrashItem>[] = [];
      for (const commit of log.split('\0')) {
        const [parents = '', ...message] = commit.split('\n');
        const trailers = parseTrailers(message.join('\n'));
        for (const trashed of trailers.trashed) {
          if (!restored.has(trashed.id)) items.push(itemOf(trashed, parents));
        }
        for (const id of trailers.restored) restored.add(id);
      }
      return Promise.all(items);
    },

    async all() {
      const filter = ['--filter=object:type=blob', '--filter-provided-objects'];
      const blobs = await git('rev-list', '--objects', '--no-object-names', ...filter, branch);
      for (const blob of blobs.split('\n').filter((each) => each !== '' && !verified.has(each))) {
        const args = ['-C', folder, 'cat-file', 'blob', blob];
        const { stdout } = await promisify(execFile)('git', args, { encoding: 'buffer', maxBuffer: 2 ** 26 });
        verified.set(blob, contentOf(stdout) ?? assert.fail(`The blob ${blob} has bytes of no content.`));
      }
      return [...new Set(verified.values())].filter((content) => content > 0);
    },
  };
}

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { temporaryFolder } from '../../testing/holdall.ts';
import type { Need } from '../runner/needs.ts';
import { PASSWORD, startDav, USER } from './dav-service.ts';
import { treeIn } from './trees.ts';

export const needs: readonly Need[] = ['cadaver'];

/** Each command, and what cadaver prints for it. */
const SESSION: readonly (readonly [command: string, printed: RegExp])[] = [
  ['mkcol work', /^Creating `work': succeeded\.$/],
  ['cd work', /^$/],
  ['put local.txt', /^Uploading local\.txt to `.*\/work\/local\.txt': .*succeeded\.$/s],
  ['put empty', /succeeded\.$/],
  ['ls', /^Listing collection `.*\/work\/': succeeded\.\n *empty +0 .*\n *local\.txt +14 /],
  ['lock local.txt', /^Locking `local\.txt': succeeded\.$/],
  ['discover local.txt', /Depth 0 on `.*\/work\/local\.txt'\n {2}Scope: exclusive {2}Type: write/],
  ['put local.txt', /succeeded\.$/],
  ['copy local.txt copy.txt', /^Copying .*: {2}succeeded\.$/],
  ['unlock local.txt', /^Unlocking `local\.txt': succeeded\.$/],
  ['propset local.txt color "light blue"', /^Setting property on `local\.txt': succeeded\.$/],
  ['propget local.txt color', /Value of color is: light blue$/],
  ['move copy.txt "moved – 1% <2>.txt"', /^Moving .*: {2}succeeded\.$/],
  ['get "moved – 1% <2>.txt" received.txt', /succeeded\.$/],
  ['move local.txt kept.txt', /^Moving .*: {2}succeeded\.$/],
  ['propget kept.txt color', /Value of color is: light blue$/],
  ['cat kept.txt', /local content$/],
  ['mkcol sub', /succeeded\.$/],
  ['mkcol sub/deep', /succeeded\.$/],
  ['copy sub twin', /^Copying .*: {2}succeeded\.$/],
  ['rmcol sub', /^Deleting collection `sub': succeeded\.$/],
  ['delete empty', /^Deleting `empty': succeeded\.$/],
  ['get missing', /404/],
];

describe('cadaver', () => {
  it('uploads, locks, copies, moves and deletes files, and sets properties', async (t) => {
    const { url, root } = await startDav(t, { basePath: '/our/files' });
    const home = await temporaryFolder(t);
    await mkdir(join(home, 'work'));
    await writeFile(join(home, '.netrc'), `machine 127.0.0.1\nlogin ${USER}\npassword "${PASSWORD}"\n`, {
      mode: 0o600,
    });
    await writeFile(join(home, 'local.txt'), 'local content\n');
    await writeFile(join(home, 'empty'), '');
    const printed = await cadaver(home, url, [...SESSION.map(([command]) => command), 'quit']);

    for (const [number, [command, expected]] of SESSION.entries()) {
      assert.match(printed[number] ?? '', expected, `${command}: ${printed[number]}`);
    }
    assert.equal(await readFile(join(home, 'received.txt'), 'utf8'), 'local content\n');
    assert.deepEqual(await treeIn(root), {
      'work/kept.txt': 'local content\n',
      'work/moved – 1% <2>.txt': 'local content\n',
      'work/twin/deep/': null,
    });
  });
});

/** Runs commands of cadaver. Returns what it prints for each. */
async function cadaver(home: string, url: string, commands: readonly string[]): Promise<string[]> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const { PATH } = process.env;
  const env = { PATH, HOME: home, LC_ALL: 'C.UTF-8' };
  const child = execFile('cadaver', [url], { cwd: home, env }, (error, stdout) =>
    error ? reject(error) : resolve(stdout),
  );
  child.stdin?.end(commands.map((command) => `${command}\n`).join(''));
  const output = await promise;
  const [, ...printed] = output.split(/^dav:.*?> .*\n?/m);
  return printed.map((text) => text.replaceAll(/\r.*\r/g, '').trim());
}

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { temporaryFolder } from '../../testing/holdall.ts';
import type { Need } from '../runner/needs.ts';
import { PASSWORD, startDav, USER } from './dav-service.ts';
import { treeIn } from './trees.ts';

export const needs: readonly Need[] = ['gvfs'];

/** What GNOME Files does, as commands of GIO. `$1` is the URL. */
const SESSION = `
set -e
printf '${USER}\\n${PASSWORD}\\n' | gio mount "$1" >/dev/null
gio mkdir "$1/folder"
gio copy "$HOME/local.txt" "$1/folder/copied%20%E2%80%93%20100%25.txt"
gio copy "$1/folder/copied%20%E2%80%93%20100%25.txt" "$1/folder/twin.txt"
printf 'replaced content' | gio save "$1/folder/twin.txt"
printf 'saved' | gio save "$1/saved.txt"
gio rename "$1/saved.txt" 'renamed #1.txt' >/dev/null
gio mkdir "$1/other"
gio move "$1/folder/twin.txt" "$1/other/twin.txt"
gio list --long "$1/folder"
gio info --attributes standard::size "$1/other/twin.txt" | grep -o 'standard::size: .*'
gio info --filesystem "$1" | grep -o 'filesystem::free: [0-9]\\+$' | sed 's/[0-9]\\+/N/'
gio cat "$1/folder/copied%20%E2%80%93%20100%25.txt"
gio copy "$1/other/twin.txt" "$HOME/received.txt"
gio mkdir "$1/empty"
gio remove "$1/empty"
gio mount --unmount "$1"
`;

describe('GIO, the library of GNOME Files', () => {
  it('mounts the service, and creates, reads, renames and removes files', async (t) => {
    const { url, root } = await startDav(t, { basePath: '/our/files' });
    const home = await temporaryFolder(t);
    const runtime = join(home, 'runtime');
    await mkdir(runtime, { mode: 0o700 });
    await writeFile(join(home, 'local.txt'), 'local content\n');
    const { PATH } = process.env;
    // The bus and everything that it starts end with the script.
    const { stdout } = await promisify(execFile)(
      'dbus-run-session',
      ['--', 'bash', '-c', SESSION, 'bash', url.replace(/^http/, 'dav').replace(/\/$/, '')],
      {
        env: { PATH, HOME: home, XDG_RUNTIME_DIR: runtime, LC_ALL: 'C.UTF-8', GVFS_DISABLE_FUSE: '1' },
      },
    );
    assert.deepEqual(stdout.trim().split('\n'), [
      'copied – 100%.txt\t14\t(regular)',
      'standard::size: 16',
      'filesystem::free: N',
      'local content',
    ]);
    assert.equal(await readFile(join(home, 'received.txt'), 'utf8'), 'replaced content');
    assert.deepEqual(await treeIn(root), {
      'folder/copied – 100%.txt': 'local content\n',
      'other/twin.txt': 'replaced content',
      'renamed #1.txt': 'saved',
    });
  });
});

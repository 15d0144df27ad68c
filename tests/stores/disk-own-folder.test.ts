import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { isReservedName } from '../../src/stores/disk/reserved-names.ts';
import { folder, pathsIn, plant } from '../contract/bytes.ts';
import { mountBind } from '../faults/mounts.ts';
import { assertNotFound, inside, type Served, serve } from './disk-served.ts';

/** Other spellings of `.holdall` that resolve to it on some file systems. */
const SPELLINGS = [
  '.HOLDALL',
  '.Holdall',
  // Code points that ext4 and HFS+ ignore: zero-width joiner, soft hyphen, byte order mark.
  '.hold\u200dall',
  '\u00ad.holdall',
  '.holdall\ufeff',
  // Full-width letters, and a script letter: mounts with a code page map them to ASCII.
  '\uff0e\uff48\uff4f\uff4c\uff44\uff41\uff4c\uff4c',
  '.ho\u2113dall',
  // Windows drops trailing dots and spaces. A colon starts the name of an alternate data stream.
  '.holdall.',
  '.holdall. .',
  '.holdall ',
  '.holdall::$INDEX_ALLOCATION',
  '.HOLDALL:x',
  '.holdall\\signing-key',
];

describe("Holdall's own folder", () => {
  let served: Served;

  before(async () => {
    served = await serve(await mkdtemp(join(tmpdir(), 'holdall-test-')));
  });
  after(async () => {
    await served.disk.store.close?.();
    await rm(served.root, { recursive: true, force: true });
  });

  it('is never listed', async () => {
    assert.ok((await readdir(served.root)).includes('.holdall'));
    assert.deepEqual(await pathsIn(served.disk.store, ''), ['a/', 'c']);
  });

  it('is not found by any operation', () => assertNotFound(served, inside('.holdall')));

  for (const spelling of SPELLINGS) {
    it(`is not found as ${JSON.stringify(spelling)}, even on a case-sensitive file system`, () =>
      assertNotFound(served, inside(spelling)));
  }

  it('hides a folder named with another spelling of .holdall from listings', async () => {
    await mkdir(join(served.root, '.HoldAll'));
    assert.deepEqual(await pathsIn(served.disk.store, ''), ['a/', 'c']);
  });

  it('is not found through a bind mount', async (t) => {
    const { root } = served;
    const reason = await mountBind(t, join(root, '.holdall'), join(root, 'alias'));
    if (reason) return t.skip(reason);
    await assertNotFound(served, inside('alias'));
  });

  it('is only reserved at the root: a subfolder may contain .holdall', async () => {
    const { disk, files } = served;
    await plant(disk.store, { 'e/.holdall/f': 'z', 'e/.HOLDALL/f': 'z' });
    assert.deepEqual(await pathsIn(disk.store, 'e'), ['e/.HOLDALL/', 'e/.holdall/']);
    await files.deleteFolder(folder('e'));
  });

  it('does not reserve similar names', () => {
    for (const name of ['holdall', '.holdal', '.holdalls', '.holdall.txt', '.hold all', 'x.holdall', '.', 'é', '']) {
      assert.equal(isReservedName(name), false, name);
    }
  });
});

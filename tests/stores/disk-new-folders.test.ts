import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { it } from 'node:test';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import { file, silentLog, upload } from '../contract/bytes.ts';

it('acknowledges a file in a folder only after the name of the folder is durable', async (t) => {
  const root = await temporaryFolder(t);
  const creating = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  let isHeld = false;
  const fsync = fs.fsync;
  t.mock.method(fs, 'fsync', (fd: number, done: fs.NoParamCallback) => {
    if (!isHeld) return fsync(fd, done);
    isHeld = false;
    creating.resolve();
    void release.promise.then(() => fsync(fd, done));
  });
  syncBuiltinESMExports();
  atEnd(t, () => syncBuiltinESMExports());
  // Loaded here, because the module takes its system calls from `node:fs` when it is loaded.
  const { openDisk } = await import('../../src/stores/disk/disk.ts');
  const { store } = await openDisk({ root, log: silentLog });
  atEnd(t, () => store.close?.());
  await store.write(file('other/0'), upload('0'));

  const acknowledged: string[] = [];
  const write = (path: string) => store.write(file(path), upload(path)).then(() => void acknowledged.push(path));
  isHeld = true;
  const first = write('new/1');
  await creating.promise;
  const second = write('new/2');
  const third = write('new/below/3');
  for (const name of ['1', '2', '3']) await write(`other/${name}`);
  assert.deepEqual(acknowledged, ['other/1', 'other/2', 'other/3']);
  release.resolve();
  await Promise.all([first, second, third]);
  assert.equal(acknowledged.length, 6);
});

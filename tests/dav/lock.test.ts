import assert from 'node:assert/strict';
import { it } from 'node:test';
import { findObstacle, type Lock } from '../../src/dav/lock.ts';
import { type FilePath, type FolderPath, parseFile, parseFolder } from '../../src/model/path.ts';
import { sampleLock } from './sample-lock.ts';

const HOLDER = { user: 'ann', appToken: undefined, tokens: new Set(['held']) };

const lockOf = (path: FilePath | FolderPath, more: Partial<Lock> = {}): Lock =>
  sampleLock({ path, token: 'other', scope: 'shared', ...more });

it('a change of a folder is compared with few locks for each of thousands of locks in it', () => {
  let reads = 0;
  const counting = (lock: Lock): Lock => ({
    ...lock,
    get isDeep() {
      reads++;
      return lock.isDeep;
    },
  });
  const count = 3000;
  const inFolder = Array.from({ length: count }, (_, index) => lockOf(parseFile(`folder/${index}`)));
  const deep = lockOf(parseFolder('folder'), { token: 'held', isDeep: true });
  const locks = [deep, ...inFolder].map(counting);
  const change = { path: parseFolder('folder'), isMember: true, isTree: true };
  assert.equal(findObstacle(change, locks, HOLDER), undefined);
  assert.ok(reads <= 10 * count, `${reads} reads`);
  const obstacle = findObstacle(change, [...locks, lockOf(parseFolder(''))], HOLDER);
  assert.equal(obstacle?.path, '');
});

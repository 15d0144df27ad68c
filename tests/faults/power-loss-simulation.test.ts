import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Replay } from '../../testing/power-loss/replay.ts';
import { SimulatedDisk, type Tree } from '../../testing/power-loss/simulated-disk.ts';
import { parseCalls } from '../../testing/power-loss/strace.ts';

const hex = (text: string) =>
  Array.from(Buffer.from(text), (byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('');
const quoted = (text: string) => `"${hex(text)}"`;
const opened = (fd: number, path: string) => `${fd}<${hex(path)}>`;

const create = (fd: number, path: string) =>
  `7 openat(AT_FDCWD<${hex('/')}>, ${quoted(path)}, O_WRONLY|O_CREAT, 0666) = ${opened(fd, path)}`;
const open = (fd: number, path: string) =>
  `7 openat(AT_FDCWD<${hex('/')}>, ${quoted(path)}, O_RDONLY) = ${opened(fd, path)}`;
const write = (fd: number, path: string, text: string) =>
  `7 write(${opened(fd, path)}, ${quoted(text)}, ${text.length}) = ${text.length}`;
const sync = (fd: number, path: string) => `7 fsync(${opened(fd, path)}) = 0`;
const rename = (from: string, to: string) => `7 rename(${quoted(from)}, ${quoted(to)}) = 0`;
const makeFolder = (path: string) => `7 mkdir(${quoted(path)}, 0777) = 0`;
const remove = (path: string) => `7 unlink(${quoted(path)}) = 0`;

/** A durable file `/d/a` with the content "old". */
const PRESENT = [create(3, '/d/a'), write(3, '/d/a', 'old'), sync(3, '/d/a'), open(4, '/d'), sync(4, '/d')];

/** Returns a simulated disk at `/d` after the calls of a recording. */
function replay(...lines: readonly string[]): SimulatedDisk {
  const disk = new SimulatedDisk();
  const calls = new Replay(disk, '/d');
  for (const call of parseCalls(lines.join('\n'))) calls.apply(call);
  return disk;
}

const textsOf = (tree: Tree) => Object.fromEntries(Array.from(tree, ([path, bytes]) => [path, bytes && String(bytes)]));

describe('A simulated disk', () => {
  it('loses a file whose folder was not synced', () => {
    const disk = replay(create(3, '/d/a'), write(3, '/d/a', 'text'), sync(3, '/d/a'));
    assert.deepEqual(textsOf(disk.current()), { a: 'text' });
    assert.deepEqual(textsOf(disk.afterPowerLoss()), {});
    assert.deepEqual(textsOf(disk.afterPowerLossWithNames()), { a: 'text' });
  });

  it('has an empty file if only its name survives', () => {
    const disk = replay(create(3, '/d/a'), write(3, '/d/a', 'text'), open(4, '/d'), sync(4, '/d'));
    assert.deepEqual(textsOf(disk.afterPowerLoss()), { a: '' });
  });

  it('loses what was written after a sync began', () => {
    const begun = `8 fsync(${opened(3, '/d/a')} <unfinished ...>`;
    const ended = '8 <... fsync resumed>) = 0';
    const disk = replay(...PRESENT, begun, write(3, '/d/a', ' new'), create(5, '/d/b'), ended);
    assert.deepEqual(textsOf(disk.current()), { a: 'old new', b: '' });
    assert.deepEqual(textsOf(disk.afterPowerLoss()), { a: 'old' });
  });

  it('loses a new folder with everything in it if the folder above was not synced', () => {
    const inside = [create(5, '/d/f/b'), open(6, '/d/f'), sync(6, '/d/f')];
    const disk = replay(makeFolder('/d/f'), ...inside);
    assert.deepEqual(textsOf(disk.afterPowerLoss()), {});
    assert.deepEqual(textsOf(replay(makeFolder('/d/f'), ...inside, open(4, '/d'), sync(4, '/d')).afterPowerLoss()), {
      'f/': null,
      'f/b': '',
    });
  });

  it('has the old or the new content during a replacement', () => {
    const replaced = [create(5, '/d/b'), write(5, '/d/b', 'new'), sync(5, '/d/b'), rename('/d/b', '/d/a')];
    const disk = replay(...PRESENT, ...replaced);
    assert.deepEqual(textsOf(disk.afterPowerLoss()), { a: 'old' });
    assert.deepEqual(textsOf(disk.afterPowerLossWithRemovals()), { a: 'new' });
    assert.deepEqual(textsOf(replay(...PRESENT, ...replaced, sync(4, '/d')).afterPowerLoss()), { a: 'new' });
  });

  it('has the old or the new name during a rename between folders, and none if only the source was synced', () => {
    const moved = [...PRESENT, makeFolder('/d/f'), open(6, '/d/f'), sync(4, '/d'), rename('/d/a', '/d/f/a')];
    assert.deepEqual(textsOf(replay(...moved).afterPowerLoss()), { a: 'old', 'f/': null });
    assert.deepEqual(textsOf(replay(...moved).afterPowerLossWithRemovals()), { 'f/': null, 'f/a': 'old' });
    assert.deepEqual(textsOf(replay(...moved, sync(4, '/d')).afterPowerLoss()), { 'f/': null });
    assert.deepEqual(textsOf(replay(...moved, sync(6, '/d/f')).afterPowerLoss()), {
      a: 'old',
      'f/': null,
      'f/a': 'old',
    });
    assert.deepEqual(textsOf(replay(...moved, sync(6, '/d/f'), sync(4, '/d')).afterPowerLoss()), {
      'f/': null,
      'f/a': 'old',
    });
  });

  it('brings a file back whose removal was not synced', () => {
    const disk = replay(...PRESENT, remove('/d/a'));
    assert.deepEqual(textsOf(disk.afterPowerLoss()), { a: 'old' });
    assert.deepEqual(textsOf(disk.afterPowerLossWithRemovals()), {});
    assert.deepEqual(textsOf(replay(...PRESENT, remove('/d/a'), sync(4, '/d')).afterPowerLoss()), {});
  });

  it('follows names relative to descriptors, also after their folder was renamed', () => {
    const below = '/proc/self/fd/6';
    const disk = replay(
      makeFolder('/d/f'),
      open(6, '/d/f'),
      rename('/d/f', '/d/g'),
      `7 openat(${opened(6, '/d/g')}, ${quoted('b')}, O_WRONLY|O_CREAT, 0666) = ${opened(5, '/d/g/b')}`,
      rename(`${below}/b`, `${below}/c "ü" >`),
    );
    assert.deepEqual(textsOf(disk.current()), { 'g/': null, 'g/c "ü" >': '' });
  });

  it('rejects a call that it does not simulate', () => {
    const map = `7 mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, ${opened(3, '/d/a')}, 0) = 0x7f0000000000`;
    assert.throws(() => replay(...PRESENT, map), /Not simulated: mmap/);
    assert.throws(
      () => replay(...PRESENT, `7 symlink(${quoted('x')}, ${quoted('/d/b')}) = 0`),
      /Not simulated: symlink/,
    );
    assert.throws(() => replay(write(9, '/d/z', 'text')), /Unknown descriptor/);
  });
});

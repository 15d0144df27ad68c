import { openSync, writeSync } from 'node:fs';
import { Readable } from 'node:stream';
import { newKeptId } from '../../src/model/kept-ids.ts';
import { parseFile, parseFolder } from '../../src/model/path.ts';
import type { Store, TrashStore } from '../../src/model/store.ts';
import { openDisk } from '../../src/stores/disk/disk.ts';
import { openS3 } from '../../src/stores/s3/s3.ts';

/*
 * A process that writes, replaces, deletes, restores and moves files and folders at random, until it is killed or gets
 * SIGTERM. Its arguments are the root of a disk or the options of a bucket as JSON, a name that makes its contents unique,
 * the path of its log, and `only-writes` if it only writes files. It logs each content before it writes it and after the write was acknowledged, and any error
 * that is not a `StoreError`.
 */
const [target = '', name = '', logPath = '', mode] = process.argv.slice(2);
const log = openSync(logPath, 'a');
const note = (word: string, text: string) => writeSync(log, `${word} ${text}\n`);

const store = await openStore();
const keep = {};
const FILES = ['a', 'b', 'f/c', 'f/d', 'f/g/e'].map(parseFile);
const [F, H] = [parseFolder('f'), parseFolder('h')];
let count = 0;

const pick = <Item>(items: readonly Item[]) => items[Math.floor(Math.random() * items.length)];

const STEPS = [
  async () => {
    const path = pick(FILES);
    const text = `${name}-${count++}`;
    if (!path) return;
    note('began', text);
    await store.write(path, { body: Readable.from([Buffer.from(text)]), type: 'text/plain' }, { keep });
    note('wrote', text);
  },
  async () => {
    const path = pick([...FILES, F, H]);
    if (path) await store.moveToTrash(path, { id: newKeptId() });
  },
  async () => {
    const item = pick((await store.listTrash({})).items);
    if (item) await store.restoreTrashed(item.id, item.path);
  },
  async () => store.moveFolder?.(F, H, { replace: true, keep }),
  async () => {
    const [from, to] = [pick(FILES), pick(FILES)];
    if (from && to && from !== to) await store.move?.(from, to, { replace: true, keep });
  },
];

const WRITES_PER_STEP = 3;

let isStopped = false;
process.once('SIGTERM', () => {
  isStopped = true;
});
while (!isStopped) {
  const isWrite = mode === 'only-writes' || Math.random() < WRITES_PER_STEP / (WRITES_PER_STEP + STEPS.length - 1);
  const step = isWrite ? STEPS[0] : pick(STEPS.slice(1));
  try {
    await step?.();
  } catch (error) {
    const isExpected = error instanceof Error && error.name === 'StoreError';
    if (!isExpected) note('fault', String(error instanceof Error ? error.stack : error).replaceAll('\n', ' '));
  }
}
await store.close?.();

async function openStore(): Promise<Store & TrashStore> {
  if (target.startsWith('{')) return openS3({ ...JSON.parse(target), warn() {} }) as Store & TrashStore;
  return (await openDisk({ root: target, log: { warn() {}, error() {} } })).store;
}

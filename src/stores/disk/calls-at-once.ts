import {
  closeSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { type Calls, NAMED, NEW_FILE } from './calls.ts';
import { createPace } from './pace.ts';

const BIG = { bigint: true } as const;

/** The calls, made on the spot while that is quick, and left to `other` else: always those that wait for the disk. */
export function callsAtOnce(other: Calls): Calls {
  const { run, runAll } = createPace();
  const lookUp = (path: string) => lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return {
    ...other,
    lookUp: (path) =>
      run(
        () => lookUp(path),
        async () => other.lookUp(path),
      ),
    lookUpAll: (paths) => runAll(paths, lookUp, async (path) => other.lookUp(path)),
    open: (path, flags) =>
      run(
        () => openSync(path, flags),
        async () => other.open(path, flags),
      ),
    close: (file) =>
      run(
        () => closeSync(file),
        async () => other.close(file),
      ),
    statOpen: (file) =>
      run(
        () => fstatSync(file, BIG),
        async () => other.statOpen(file),
      ),
    readLink: (path) =>
      run(
        () => readlinkSync(path),
        async () => other.readLink(path),
      ),
    read: (file, buffer, position) =>
      run(
        () => readWhole(file, buffer, position),
        async () => other.read(file, buffer, position),
      ),
    readFolder: (path, options, take) =>
      options.isLarge
        ? other.readFolder(path, options, take)
        : run(
            () => readdirSync(path, NAMED).forEach(take),
            async () => other.readFolder(path, options, take),
          ),
    create: (path) =>
      run(
        () => openSync(path, 'wx', NEW_FILE),
        async () => other.create(path),
      ),
    makeFolder: (path) =>
      run(
        () => mkdirSync(path),
        async () => other.makeFolder(path),
      ),
    rename: (from, to) =>
      run(
        () => renameSync(from, to),
        async () => other.rename(from, to),
      ),
    write: (file, bytes) =>
      run(
        () => writeWhole(file, bytes),
        async () => other.write(file, bytes),
      ),
  };
}

function readWhole(file: number, buffer: Buffer, position: number): number {
  let filled = 0;
  while (filled < buffer.length) {
    const bytes = readSync(file, buffer, filled, buffer.length - filled, position + filled);
    if (bytes === 0) break;
    filled += bytes;
  }
  return filled;
}

function writeWhole(file: number, bytes: Buffer): void {
  let written = 0;
  while (written < bytes.length) written += writeSync(file, bytes, written);
}

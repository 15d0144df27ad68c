import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Files } from '../../src/files/files.ts';
import { parseFile } from '../../src/model/path.ts';
import type { FileEntry } from '../../src/model/store.ts';
import { requireEtag } from '../../src/model/store-errors.ts';
import { createThumbnails, type Thumbnails, type ThumbnailsOptions } from '../../src/thumbnails/thumbnails.ts';

/** Files for tests, whose reads are counted and can be held back. */
export interface Gallery {
  readonly files: Pick<Files, 'read'>;
  /** The paths that were read, in order. */
  readonly reads: string[];
  /** The bodies that were given out. */
  readonly bodies: PassThrough[];
  put(path: string, bytes: Buffer): FileEntry;
  /** From now on bodies give nothing, until the function that it gives is called. */
  hold(): () => void;
}

export function createGallery(): Gallery {
  const shelf = new Map<string, { entry: FileEntry; bytes: Buffer }>();
  const reads: string[] = [];
  const bodies: PassThrough[] = [];
  let gate = Promise.resolve();

  return {
    reads,
    bodies,
    files: {
      async read(path, { ifMatch } = {}) {
        const file = shelf.get(path);
        if (!file) throw new Error(`The test has no ${path}.`);
        requireEtag(file.entry, ifMatch);
        reads.push(path);
        const body = new PassThrough();
        bodies.push(body);
        void gate.then(() => body.destroyed || body.end(file.bytes));
        return { file: file.entry, body };
      },
    },
    put(path, bytes) {
      const etag = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
      const type = 'application/octet-stream';
      const entry: FileEntry = { kind: 'file', path: parseFile(path), size: bytes.length, etag, modified: null, type };
      shelf.set(path, { entry, bytes });
      return entry;
    },
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return resolve;
    },
  };
}

/** Thumbnails of a gallery, closed when the test ends; without a cache on disk unless one is asked for. */
export function thumbnailsOf(
  test: TestContext,
  gallery: Gallery,
  options: Partial<Omit<ThumbnailsOptions, 'files'>> = {},
): Thumbnails {
  const defaults = { cacheFolder: '/nowhere', cacheSize: 0, maxRenders: 2 };
  const thumbnails = createThumbnails({ files: gallery.files, ...defaults, ...options });
  atEnd(test, () => thumbnails.close());
  return thumbnails;
}

/** The thumbnail of one image, whatever it is called. */
export async function thumbnailOf(test: TestContext, image: Buffer, path = 'image'): Promise<Buffer> {
  const gallery = createGallery();
  return thumbnailsOf(test, gallery).get(gallery.put(path, image));
}

/** A folder that is gone when the test ends. */
export async function temporaryFolder(test: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'holdall-thumbnails-'));
  atEnd(test, () => rm(folder, { recursive: true, force: true }));
  return folder;
}

const cleanUps = new WeakMap<TestContext, (() => Promise<void>)[]>();

/** Cleans up when the test ends, the last thing first: a folder is still there while a cache in it is closed. */
export function atEnd(test: TestContext, cleanUp: () => Promise<void>): void {
  const known = cleanUps.get(test);
  if (known) return void known.unshift(cleanUp);
  const all = [cleanUp];
  cleanUps.set(test, all);
  test.after(async () => {
    for (const next of all) await next();
  });
}

/** Lets everything happen that waits for nothing outside this process. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await setImmediate();
}

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
import { drawRendition } from '../../src/thumbnails/draw.ts';
import { asStoreError, type RenderLimits } from '../../src/thumbnails/errors.ts';
import { needsChildProcess } from '../../src/thumbnails/render.ts';
import { THUMBNAIL } from '../../src/thumbnails/renditions.ts';
import { createThumbnails, type Thumbnails, type ThumbnailsOptions } from '../../src/thumbnails/thumbnails.ts';

/** Files for tests. Reads are recorded and can be blocked. */
export interface Gallery {
  readonly files: Pick<Files, 'read'>;
  /** The paths that were read, in order. */
  readonly reads: string[];
  /** The returned bodies. */
  readonly bodies: PassThrough[];
  put(path: string, bytes: Buffer): FileEntry;
  /** Blocks all further bodies until the returned function is called. */
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

/** Creates thumbnails of a gallery, which are closed at the end of the test. By default, without a cache on disk. */
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

/** Returns the thumbnail of one image. */
export async function thumbnailOf(test: TestContext, image: Buffer, path = 'image'): Promise<Buffer> {
  const gallery = createGallery();
  return thumbnailsOf(test, gallery).get(gallery.put(path, image));
}

/**
 * Returns the thumbnail of one image, drawn by the function that drawing processes call, with the error that a user gets.
 * Starts no process. The caller must have called `allowAllFormats`.
 */
export async function drawnThumbnailOf(image: Buffer, path = 'image'): Promise<Buffer> {
  try {
    needsChildProcess(image, THUMBNAIL);
    return await drawRendition(image, THUMBNAIL, LIMITS.deadlineMs);
  } catch (error) {
    throw asStoreError(error, parseFile(path), LIMITS);
  }
}

const LIMITS: RenderLimits = { cpuTimeMs: 60_000, deadlineMs: 60_000, memoryLimitBytes: 2 ** 30 };

/** Creates a folder that is removed at the end of the test. */
export async function temporaryFolder(test: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'holdall-thumbnails-'));
  atEnd(test, () => rm(folder, { recursive: true, force: true }));
  return folder;
}

const cleanUps = new WeakMap<TestContext, (() => Promise<void>)[]>();

/**
 * Cleans up at the end of the test in reverse order of registration: a cache is closed before its folder is removed.
 */
export function atEnd(test: TestContext, cleanUp: () => Promise<void>): void {
  const known = cleanUps.get(test);
  if (known) return void known.unshift(cleanUp);
  const all = [cleanUp];
  cleanUps.set(test, all);
  test.after(async () => {
    for (const next of all) await next();
  });
}

/** Waits for everything that depends only on this process. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await setImmediate();
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchResponse } from './requests.ts';
import type { Client } from './soak-client.ts';
import { contentOf, createChance, isContentOf, type SoakFile } from './soak-files.ts';

/** A sent request: its kind, its end in seconds since the start, and its duration. */
export interface Sample {
  readonly kind: string;
  readonly at: number;
  /** Milliseconds since its scheduled time. */
  readonly latency: number;
}

export interface LoadReport {
  readonly samples: readonly Sample[];
  /** The problems, each listed once. */
  readonly errors: readonly string[];
  /** The expected files at the end. */
  readonly files: readonly SoakFile[];
}

export interface LoadOptions {
  readonly seconds: number;
  /** Requests per second, whether responses arrive in time or not. */
  readonly rate: number;
  readonly picture: Buffer;
  /** Called when the files for the first requests are stored and the load starts. */
  readonly onBegin: () => void;
}

/** Concurrent workers. Each has a folder of its own, so that it knows which files are stored. */
const workers = 16;

/** The approximate number of files that a worker keeps. */
const FILES_PER_WORKER = 150;

const [small, large] = [
  { least: 1024, most: 64 * 1024 },
  { least: 7 * 2 ** 20, most: 9 * 2 ** 20 },
];

/** A mixed load at a constant rate. Every response is compared with the stored files. */
export async function loadMixed(client: Client, options: LoadOptions, signal: AbortSignal): Promise<LoadReport> {
  const samples: Sample[] = [];
  const errors: string[] = [];
  let began = 0;
  let due = 0;
  const work = async (worker: Worker) => {
    for (;;) {
      const mine = due++ / options.rate;
      if (mine >= options.seconds) return;
      await sleep(Math.max(0, began + mine * 1000 - performance.now()), undefined, { signal });
      const kind = worker.choose();
      try {
        await worker.actions[kind]();
      } catch (error) {
        signal.throwIfAborted();
        errors.push(`${kind}: ${error instanceof Error ? error.message : String(error)}`);
      }
      const now = performance.now() - began;
      samples.push({ kind, at: now / 1000, latency: now - mine * 1000 });
    }
  };
  const all = Array.from({ length: workers }, (_, index) => createWorker(client, index, options.picture));
  for (const worker of all) await worker.begin();
  options.onBegin();
  began = performance.now();
  await Promise.all(all.map(work));
  return { samples, errors, files: all.flatMap((worker) => worker.files()) };
}

/** The kinds of requests, in per cent. */
const shares = {
  'upload, small': 14,
  'upload, large': 1,
  'fetch, small': 32,
  'fetch, large': 3,
  'fetch, a range': 10,
  list: 18,
  thumbnail: 6,
  rename: 4,
  copy: 5,
  delete: 7,
} as const;

export type Kind = keyof typeof shares;
export const kinds = Object.keys(shares) as Kind[];

interface Worker {
  readonly actions: Readonly<Record<Kind, () => Promise<void>>>;
  choose(): Kind;
  /** Stores the files for the first requests. */
  begin(): Promise<void>;
  files(): SoakFile[];
}

function createWorker(client: Client, index: number, picture: Buffer): Worker {
  const chance = createChance(index);
  const folder = `worker ${index}/`;
  const files = new Map<string, SoakFile>();
  let named = 0;

  const pick = (isWanted: (file: SoakFile) => boolean): SoakFile => {
    const wanted = [...files.values()].filter(isWanted);
    const file = wanted[Math.floor(chance() * wanted.length)];
    if (!file) throw new Error('no such file is left');
    return file;
  };
  const isSmall = ({ bytes }: SoakFile) => bytes <= small.most;
  const url = (path: string) => path.split('/').map(encodeURIComponent).join('/');

  const store = async ({ least, most }: { least: number; most: number }): Promise<void> => {
    const name = `file ${named++}.bin`;
    const bytes = least + Math.floor(chance() * (most - least));
    const file = { path: `${folder}${name}`, bytes, seed: index * 1_000_000 + named };
    requireStatus(await client.upload(folder, name, contentOf(file)), 200);
    files.set(file.path, file);
  };
  const forget = async (file: SoakFile): Promise<void> => {
    requireStatus(await client.remove(`/delete/${url(file.path)}`), 200);
    files.delete(file.path);
  };
  const put = (file: SoakFile, path: string) => files.set(path, { ...file, path });
  const picturePath = `${folder}picture.jpg`;

  const actions: Worker['actions'] = {
    'upload, small': () => store(small),
    async 'upload, large'() {
      // One is enough, because these files fill the disk.
      const others = [...files.values()].filter((file) => !isSmall(file));
      await store(large);
      for (const file of others.slice(1)) await forget(file);
    },
    async 'fetch, small'() {
      const file = pick(isSmall);
      const response = requireStatus(await client.get(`/file/${url(file.path)}`), 200);
      requireContent(file, isContentOf(file, response.body));
    },
    async 'fetch, large'() {
      const file = pick((each) => !isSmall(each));
      const { headers } = requireStatus(await client.get(`/file/${url(file.path)}`), 302);
      const response = requireStatus(await client.get(headers.location ?? ''), 200);
      requireContent(file, isContentOf(file, response.body));
    },
    async 'fetch, a range'() {
      const file = pick(isSmall);
      const [from, to] = [Math.floor(file.bytes / 4), Math.floor(file.bytes / 2)];
      const range = { range: `bytes=${from}-${to - 1}` };
      const response = requireStatus(await client.get(`/file/${url(file.path)}`, range), 206);
      requireContent(file, isContentOf(file, response.body, from, to));
    },
    async list() {
      requireStatus(await client.get(`/${url(folder)}`), 200);
    },
    async thumbnail() {
      requireStatus(await client.get(`/thumb/${url(picturePath)}`), 200);
      // Every tenth picture is new and must be drawn.
      if (chance() < 0.1) requireStatus(await client.upload(folder, 'picture.jpg', varied(picture, named++)), 200);
    },
    async rename() {
      const file = pick(isSmall);
      const name = `renamed ${named++}.bin`;
      requireStatus(await client.post(`/rename/${url(file.path)}`, { newName: name }), 200);
      files.delete(file.path);
      put(file, `${file.path.slice(0, file.path.lastIndexOf('/') + 1)}${name}`);
    },
    async copy() {
      const file = pick(isSmall);
      const destination = `${folder}copies/copy ${named++}.bin`;
      requireStatus(await client.post('/copy', { source: file.path, destination, is_folder: false }), 200);
      put(file, destination);
    },
    async delete() {
      if (files.size < 20) return await store(small);
      // Removes more files than are added, until the number is as intended.
      for (let more = 0; more < (files.size > FILES_PER_WORKER ? 3 : 1); more++) await forget(pick(isSmall));
    },
  };

  return {
    actions,
    choose: () => chooseKind(chance()),
    async begin() {
      for (let count = 0; count < 20; count++) await store(small);
      await store(large);
      requireStatus(await client.upload(folder, 'picture.jpg', varied(picture, index)), 200);
    },
    files: () => [...files.values()],
  };
}

function chooseKind(chance: number): Kind {
  let left = chance * Object.values(shares).reduce((sum, share) => sum + share, 0);
  return kinds.find((kind) => (left -= shares[kind]) < 0) ?? 'list';
}

/** Returns the picture with other bytes after its end, which decoders ignore, so that it is in no cache. */
function varied(picture: Buffer, number: number): Buffer {
  return Buffer.concat([picture, Buffer.from(String(number))]);
}

function requireStatus(response: BenchResponse, status: number): BenchResponse {
  if (response.status === status) return response;
  throw new Error(`${response.status} instead of ${status}: ${response.body.toString().slice(0, 200)}`);
}

function requireContent({ path }: SoakFile, isRight: boolean): void {
  if (!isRight) throw new Error(`${path} came with other bytes`);
}

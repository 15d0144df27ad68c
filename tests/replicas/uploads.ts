import assert from 'node:assert/strict';
import { createHash, randomInt } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { type Owner, temporaryFolder } from '../../testing/holdall.ts';
import { type ConnectionCutter, startConnectionCutter } from '../../testing/servers/connection-cutter.ts';
import { type TusResult, uploadByTus } from '../../testing/tus-client.ts';
import { block, MIB } from '../faults/pattern.ts';
import type { UploadStage } from './upload-stages.ts';

/** Uploads a file with a client that continues after errors. Rejects if the client gives up. */
export type UploadClient = (upload: {
  /** The URL of the service, without a trailing slash. */
  readonly service: string;
  /** The path in the store. */
  readonly path: string;
  readonly file: string;
  readonly chunkSize: number;
}) => Promise<Partial<TusResult>>;

/** Uploads a file with tus-js-client in this process. */
export const uploadFromNode: UploadClient = ({ path, file, ...options }) =>
  uploadByTus({ ...options, metadata: { path }, content: file });

export interface Trial {
  /** The clients, each of which uploads a large file. All of them work at the same time. */
  readonly clients: readonly UploadClient[];
  /** Bytes of a large file. */
  readonly large: number;
  /** The small files of `uploadFromNode`, which have up to so many bytes each. It uploads two of them at a time. */
  readonly small: { readonly count: number; readonly maxBytes: number };
  /** Bytes of a part. */
  readonly chunkSize: number;
}

/** What a trial needed. */
export interface TrialFigures {
  readonly seconds: number;
  readonly files: number;
  readonly bytes: number;
  readonly cuts: number;
  readonly kills: number;
  /** Requests of tus-js-client in Node.js by method and status; 0 is a request without a response. */
  readonly requests: Readonly<Record<string, number>>;
  /** Uploads that a client began again, because it took the first one for lost. */
  readonly restarted: number;
  /** Uploads that the service began, but whose response was lost. */
  readonly unanswered: number;
}

/** Mean milliseconds between two cuts of all connections. */
const CUT_INTERVAL_MS = 1000;

/** Milliseconds that all replicas run between two kills. */
const CALM_MS = 2000;

/**
 * Uploads files through nginx and three replicas, while connections break every second and replicas are killed. Fails
 * unless each file is stored byte for byte, and nothing else remains.
 */
export async function uploadUnderFaults(owner: Owner, stage: UploadStage, trial: Trial): Promise<TrialFigures> {
  const cutter = await startConnectionCutter(owner, stage.port);
  const files = await writeFiles(await temporaryFolder(owner), trial);
  const ended = new AbortController();
  const faults = Promise.all([cutConnections(cutter, ended.signal), killReplicas(stage, ended.signal)]);
  // It is awaited below.
  faults.catch(() => {});
  const start = performance.now();
  const results: Partial<TusResult>[] = [];
  try {
    const service = `http://127.0.0.1:${cutter.port}`;
    const upload = async (client: UploadClient, { name, file }: SourceFile) => {
      results.push(await client({ service, path: `up/${name}`, file, chunkSize: trial.chunkSize }));
    };
    const queue = files.slice(trial.clients.length);
    const uploadSmall = async () => {
      for (let next = queue.shift(); next; next = queue.shift()) await upload(uploadFromNode, next);
    };
    const uploadLarge = trial.clients.map((client, index) => {
      const file = files[index];
      assert.ok(file);
      return upload(client, file);
    });
    await Promise.all([...uploadLarge, uploadSmall(), uploadSmall()]);
  } finally {
    ended.abort();
  }
  const seconds = (performance.now() - start) / 1000;
  const [cuts, kills] = await faults;

  for (const { name, hash } of files) {
    const stored = await fetch(`http://127.0.0.1:${stage.port}/file/up/${name}`);
    assert.equal(stored.status, 200, name);
    assert.ok(stored.body);
    const found = createHash('sha256');
    for await (const bytes of stored.body) found.update(bytes);
    assert.equal(found.digest('hex'), hash, name);
  }
  const known = new Set(results.flatMap(({ urls = [] }) => urls.map((url) => url.slice(url.lastIndexOf('/') + 1))));
  const unfinished = (await stage.uploads()).filter(({ isFinished }) => !isFinished);
  // A client never learns of an upload whose response was lost. It would be removed when it expires.
  for (const { id } of unfinished) {
    const url = `http://127.0.0.1:${stage.port}/-/uploads/${id}`;
    const { status } = await fetch(url, { method: 'DELETE', headers: { 'tus-resumable': '1.0.0' } });
    assert.equal(status, 204);
  }
  await stage.untilClean(kills);
  assert.deepEqual(
    stage.replicas.flatMap((replica) => replica.faults()),
    [],
  );
  const unanswered = unfinished.filter(({ id }) => !known.has(id)).length;
  return {
    seconds,
    files: files.length,
    bytes: files.reduce((sum, { size }) => sum + size, 0),
    cuts,
    kills,
    requests: sumOf(results.map(({ requests = {} }) => requests)),
    restarted: results.reduce((sum, { urls = [] }) => sum + Math.max(0, urls.length - 1), 0),
    unanswered,
  };
}

interface SourceFile {
  readonly name: string;
  readonly file: string;
  readonly size: number;
  readonly hash: string;
}

/** Writes the files to upload, with the large ones first. */
async function writeFiles(folder: string, { clients, large, small }: Trial): Promise<SourceFile[]> {
  const sizes = [
    ...clients.map(() => large),
    ...Array.from({ length: small.count }, () => randomInt(small.maxBytes + 1)),
  ];
  const files: SourceFile[] = [];
  for (const [index, size] of sizes.entries()) {
    const name = `${index}.bin`;
    const file = join(folder, name);
    const hash = createHash('sha256');
    await pipeline(function* () {
      for (let done = 0; done < size; done += MIB) {
        // All blocks of all files differ.
        const bytes = Buffer.from(block(index * 100_000 + done / MIB).subarray(0, Math.min(MIB, size - done)));
        hash.update(bytes);
        yield bytes;
      }
    }, createWriteStream(file));
    files.push({ name, file, size, hash: hash.digest('hex') });
  }
  return files;
}

/** Cuts all connections at random intervals. Returns how many it cut. */
async function cutConnections(cutter: ConnectionCutter, signal: AbortSignal): Promise<number> {
  let count = 0;
  while (await pause(randomInt(2 * CUT_INTERVAL_MS), signal)) count += cutter.cut();
  return count;
}

/** Kills replicas one after the other, and starts them again. Returns how many it killed. All run at the end. */
async function killReplicas({ replicas }: UploadStage, signal: AbortSignal): Promise<number> {
  let count = 0;
  while (await pause(CALM_MS, signal)) {
    const replica = replicas[randomInt(replicas.length)];
    await replica?.kill();
    await replica?.start();
    count++;
  }
  return count;
}

/** Waits, and returns whether the signal has not aborted. */
async function pause(milliseconds: number, signal: AbortSignal): Promise<boolean> {
  await delay(milliseconds, undefined, { signal }).catch(() => {});
  return !signal.aborted;
}

function sumOf(counts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const each of counts) {
    for (const [name, count] of Object.entries(each)) sum[name] = (sum[name] ?? 0) + count;
  }
  return sum;
}
